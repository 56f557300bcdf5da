//! [`ControllerCommand`]: commands of people to the controllers of a running manager.

use serde::{Deserialize, Serialize};

use super::Manager;
use crate::reconcile::Request;

/// A command to a controller. Tools send it as JSON: `{"do": "enqueue", "controller": "captain", "key": "default/ahab"}`.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, ControllerCommand, Manager, Request};
///
/// let manager = Manager::new(cluster.client());
/// let controller = Controller::for_::<ConfigMap>()
///     .build(&manager, |_: Context, _: Request| async { Ok(Action::done()) })
///     .unwrap();
/// let command = serde_json::from_str(r#"{"do": "pause", "controller": "configmap"}"#).unwrap();
/// manager.command(&command).unwrap();
/// assert!(controller.is_paused());
///
/// let unknown = ControllerCommand::Resume { controller: "secret".into() };
/// assert_eq!(manager.command(&unknown).unwrap_err().to_string(), "there is no controller \"secret\"");
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", deny_unknown_fields)]
pub enum ControllerCommand {
    /// Requests a reconcile of a key: `namespace/name`, or `name`.
    Enqueue {
        /// The name of the controller.
        controller: String,
        /// The key.
        key: String,
    },
    /// Stops the start of reconciles.
    Pause {
        /// The name of the controller.
        controller: String,
    },
    /// Continues after a pause.
    Resume {
        /// The name of the controller.
        controller: String,
    },
}

/// An error of a [`ControllerCommand`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The manager has no such controller.
    #[error("there is no controller {0:?}")]
    UnknownController(String),
    /// The key does not name an object.
    #[error("{0:?} is not a key: write namespace/name, or name")]
    InvalidKey(String),
}

impl ControllerCommand {
    /// Returns the name of the controller.
    pub fn controller(&self) -> &str {
        match self {
            Self::Enqueue { controller, .. }
            | Self::Pause { controller }
            | Self::Resume { controller } => controller,
        }
    }
}

impl Manager {
    /// Executes a command.
    ///
    /// # Errors
    ///
    /// Fails if there is no such controller, or the key is invalid.
    pub fn command(&self, command: &ControllerCommand) -> Result<(), CommandError> {
        let name = command.controller();
        let controller = self.controller(name);
        let controller = controller.ok_or_else(|| CommandError::UnknownController(name.into()))?;
        match command {
            ControllerCommand::Enqueue { key, .. } => controller.trigger(request(key)?),
            ControllerCommand::Pause { .. } => controller.pause(),
            ControllerCommand::Resume { .. } => controller.resume(),
        }
        Ok(())
    }
}

fn request(key: &str) -> Result<Request, CommandError> {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    let has_both = !key.starts_with('/') && !name.is_empty() && !name.contains('/');
    match has_both {
        true => Ok(Request::new(namespace, name)),
        false => Err(CommandError::InvalidKey(key.to_owned())),
    }
}

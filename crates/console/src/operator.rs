//! [`LocalOperator`]: the operator of this program or of a child process.

use async_trait::async_trait;
use kubewright_controller::{ControllerCommand, Manager};

/// An operator whose metrics a console plots and whose controllers it can pause: the one that the program itself runs, or its child
/// process. A [`Manager`] is one.
///
/// ```
/// use kubewright_console::LocalOperator;
/// use kubewright_controller::ControllerCommand;
///
/// /// An operator that is not running.
/// struct Stopped;
///
/// #[async_trait::async_trait]
/// impl LocalOperator for Stopped {
///     async fn metrics(&self) -> Option<String> {
///         None
///     }
///
///     async fn command(&self, _: ControllerCommand) -> Result<(), String> {
///         Err("the operator is not running".to_owned())
///     }
/// }
/// ```
#[async_trait]
pub trait LocalOperator: Send + Sync {
    /// Returns the metrics in Prometheus' text format, or `None` while the operator is not running.
    async fn metrics(&self) -> Option<String>;

    /// Executes a command.
    ///
    /// # Errors
    ///
    /// Fails with a message for people if there is no such controller, or the operator is not running.
    async fn command(&self, command: ControllerCommand) -> Result<(), String>;
}

#[async_trait]
impl LocalOperator for Manager {
    async fn metrics(&self) -> Option<String> {
        Some(self.registry().encode())
    }

    async fn command(&self, command: ControllerCommand) -> Result<(), String> {
        self.command(&command).map_err(|error| error.to_string())
    }
}

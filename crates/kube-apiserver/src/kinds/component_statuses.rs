//! Component statuses: computed when they are read, and never stored.

use std::{borrow::Cow, sync::Arc};

use kubewright_apiserver::{
    Object, boxed_async,
    registry::{Get, Handlers, Items, List, ObjectList},
    request::{GetOptions, ListOptions, RequestContext},
};
use kubewright_machinery::{Status, gvk::GroupResource, status};
use kubewright_store::Store;
use serde_json::{Value, json};

use super::Environment;

/// A component of the control plane that may run beside the server. Its status is part of `componentstatuses`.
///
/// ```
/// use kubewright_kube_apiserver::{Component, KubeApiServer};
///
/// let builder = KubeApiServer::builder().component(Component::Scheduler);
/// # let _ = builder;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// The built-in controllers.
    ControllerManager,
    /// The scheduler.
    Scheduler,
}

impl Component {
    const ALL: [Self; 2] = [Self::ControllerManager, Self::Scheduler];

    fn name(self) -> &'static str {
        match self {
            Self::ControllerManager => "controller-manager",
            Self::Scheduler => "scheduler",
        }
    }
}

/// The name of the store.
const STORE: &str = "etcd-0";

/// Returns the handlers of `componentstatuses`.
pub(crate) fn handlers(environment: &Environment) -> Handlers {
    let statuses = Arc::new(ComponentStatuses {
        store: environment.store.clone(),
        running: environment.components.clone(),
    });
    Handlers {
        get: Some(statuses.clone()),
        list: Some(statuses),
        ..Handlers::default()
    }
}

struct ComponentStatuses {
    store: Arc<dyn Store>,
    running: Vec<Component>,
}

impl ComponentStatuses {
    fn component(&self, component: Component) -> Value {
        let condition = match self.running.contains(&component) {
            true => json!({"type": "Healthy", "status": "True", "message": "ok"}),
            false => {
                json!({"type": "Healthy", "status": "False", "message": "does not run beside this server"})
            }
        };
        object(component.name(), &condition)
    }

    async fn store(&self) -> Value {
        let condition = match self.store.ready().await {
            Ok(()) => json!({"type": "Healthy", "status": "True", "message": "ok"}),
            Err(error) => json!({"type": "Healthy", "status": "False", "error": error.to_string()}),
        };
        object(STORE, &condition)
    }
}

fn object(name: &str, condition: &Value) -> Value {
    json!({
        "kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": name}, "conditions": [condition],
    })
}

#[boxed_async]
impl Get for ComponentStatuses {
    async fn get(&self, _: &RequestContext, name: &str, _: &GetOptions) -> Result<Object, Status> {
        if name == STORE {
            return Ok(Object::from_value(&self.store().await));
        }
        let mut all = Component::ALL.into_iter();
        match all.find(|component| component.name() == name) {
            Some(component) => Ok(Object::from_value(&self.component(component))),
            // kube-apiserver names the kind here, and not the resource.
            None => Err(status::not_found(
                &GroupResource::new("", "componentstatus"),
                name,
            )),
        }
    }
}

#[boxed_async]
impl List for ComponentStatuses {
    async fn list(&self, _: &RequestContext, options: &ListOptions) -> Result<ObjectList, Status> {
        let is_selected = |status: &&Value| {
            let name = status["metadata"]["name"].as_str().unwrap_or_default();
            let field = |path: &str| match path {
                "metadata.name" => Some(Cow::Borrowed(name)),
                _ => None,
            };
            options.labels.matches(|_| None) && options.fields.matches(field)
        };
        let mut statuses: Vec<Value> = Component::ALL.map(|c| self.component(c)).into();
        statuses.push(self.store().await);
        let selected = statuses.iter().filter(is_selected).map(Object::from_value);
        Ok(ObjectList {
            resource_version: String::new(),
            continue_token: String::new(),
            remaining: None,
            items: Items::All(selected.collect()),
        })
    }
}

//! [`Monitors`]: watches of resources whose objects are counted, by which freed resources are noticed.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use kube::core::ApiResource;
use kubewright_builtins::usage::{Evaluator, attribute_classes, resource_list};
use kubewright_client::DiscoveryClient;
use kubewright_controller::{
    AnyEvent, Client, Clock, Controller, Handler, Manager, Request, Result, Watch, WatchHandle,
};
use kubewright_informer::{Cached, Event, SharedInformer};
use parking_lot::Mutex;
use serde_json::Value;

use super::counted::Counted;
use crate::{
    resources::collectable,
    workloads::{objects::ResourceQuota, pods},
};

/// The quotas of the cluster.
#[derive(Clone)]
pub(super) struct Quotas(SharedInformer<ResourceQuota>);

impl Quotas {
    pub(super) fn of(manager: &Manager) -> Self {
        pods::add_namespace_index::<ResourceQuota>(manager);
        let quotas = ApiResource::erase::<ResourceQuota>(&());
        Self(manager.caches().informer(&quotas).cast())
    }

    /// Returns a handler that requests the quotas which count an object when it is deleted, or when it uses more or less.
    pub(super) fn users_of(&self, counted: Counted, clock: Clock) -> Handler {
        let quotas = self.clone();
        let evaluator = counted.evaluator();
        Handler::events(move |event: &AnyEvent| {
            let found = quotas.counting(event.object(), &evaluator);
            if found.is_empty() {
                return found;
            }
            match event {
                Event::Added { .. } => Vec::new(),
                Event::Deleted { .. } => found,
                Event::Updated { old, object, .. } => {
                    let now = clock().as_second();
                    match is_used_otherwise(&evaluator, old, object, now) {
                        true => found,
                        false => Vec::new(),
                    }
                }
            }
        })
    }

    /// Returns a handler that requests the quotas which count an object when it is deleted.
    fn deletions_of(&self, counted: &Counted) -> Handler {
        let quotas = self.clone();
        let evaluator = counted.evaluator();
        Handler::events(move |event: &AnyEvent| match event {
            Event::Deleted { .. } => quotas.counting(event.object(), &evaluator),
            _ => Vec::new(),
        })
    }

    /// Returns the quotas that count objects of a kind in the namespace of one.
    fn counting(&self, object: &Cached<()>, evaluator: &Evaluator) -> Vec<Request> {
        let namespace = object.namespace().unwrap_or_default();
        let quotas = pods::cached_in_namespace(&self.0, namespace);
        let counts = |quota: &Arc<ResourceQuota>| {
            let hard = resource_list::read(&quota.spec["hard"]);
            hard.keys().any(|name| evaluator.measures(name))
        };
        let concerned = quotas.iter().filter(|quota| counts(quota));
        concerned.map(|quota| Request::of(&**quota)).collect()
    }
}

/// Reports whether the usage of an object, or the scopes that it is in, have changed.
fn is_used_otherwise(evaluator: &Evaluator, old: &Cached<()>, new: &Cached<()>, now: i64) -> bool {
    let json = |object: &Cached<()>| -> Option<Value> {
        serde_json::from_slice(&object.stored().json()).ok()
    };
    let (Some(old), Some(new)) = (json(old), json(new)) else {
        return true;
    };
    let is_terminating = |object: &Value| {
        matches!(evaluator, Evaluator::Pods) && kubewright_builtins::usage::is_terminating(object)
    };
    let is_reclassified = || {
        matches!(evaluator, Evaluator::VolumeClaims)
            && attribute_classes(&old) != attribute_classes(&new)
    };
    evaluator.usage(&old, now) != evaluator.usage(&new, now)
        || is_terminating(&old) != is_terminating(&new)
        || is_reclassified()
}

/// The watches of a controller.
pub(super) struct Monitors {
    quotas: Quotas,
    controller: OnceLock<Controller>,
    watches: Mutex<BTreeMap<Counted, Monitor>>,
}

struct Monitor {
    resource: ApiResource,
    _watch: WatchHandle,
}

impl Monitors {
    pub(super) fn new(quotas: Quotas) -> Self {
        Self {
            quotas,
            controller: OnceLock::new(),
            watches: Mutex::default(),
        }
    }

    /// Sets the controller that the watches belong to.
    pub(super) fn attach(&self, controller: Controller) {
        // It is called once, when the controller is built.
        drop(self.controller.set(controller));
    }

    /// Returns the endpoint of a resource, which is watched from now on; `None` if the server does not serve it.
    pub(super) async fn watch(
        &self,
        client: &Client,
        counted: &Counted,
    ) -> Result<Option<ApiResource>> {
        if let Some(monitor) = self.watches.lock().get(counted) {
            return Ok(Some(monitor.resource.clone()));
        }
        let found = DiscoveryClient::new(client.live()).discover().await?;
        let is_it = |resource: &ApiResource| {
            resource.group == counted.group && resource.plural == counted.plural
        };
        let Some(resource) = collectable(&found).into_values().find(is_it) else {
            return Ok(None);
        };
        let Some(controller) = self.controller.get() else {
            return Ok(Some(resource));
        };
        let handler = self.quotas.deletions_of(counted);
        let watch = controller.watch(Watch::kind(&resource, handler).metadata_only());
        let monitor = Monitor {
            resource: resource.clone(),
            _watch: watch,
        };
        self.watches.lock().insert(counted.clone(), monitor);
        Ok(Some(resource))
    }

    /// Forgets a resource that is no longer served.
    pub(super) fn forget(&self, counted: &Counted) {
        self.watches.lock().remove(counted);
    }
}

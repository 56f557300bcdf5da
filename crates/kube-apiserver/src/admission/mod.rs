//! Admission of the built-in kinds: the plugins that a real API server runs unless told otherwise.
//!
//! Each plugin is one module, and reads what it needs to know of other objects from the store at the moment it is asked. The
//! order is that of the real server: every plugin may first change the object, then refuse it; [`ResourceQuota`] comes last,
//! when nobody else can turn the write down any more.
//!
//! | module | what it does |
//! |---|---|
//! | [`limit_ranger`] | default requests and limits, and their bounds, from the namespace's `LimitRange`s |
//! | [`taint_nodes_by_condition`] | new nodes are not ready |
//! | [`priority`] | the priority of a pod, from its `PriorityClass` |
//! | [`default_toleration_seconds`] | pods stay on an unreachable node for five minutes |
//! | [`default_storage_class`] | a claim that names no class gets the default one |
//! | [`storage_in_use`] | volumes, claims and attribute classes are held by a finalizer; off unless enabled |
//! | [`pvc_resize`] | claims grow where their class allows it |
//! | [`runtime_class`] | overhead and scheduling, from the pod's `RuntimeClass` |
//! | [`default_ingress_class`] | an ingress that names no class gets the default one |
//! | [`pod_topology_labels`] | a pod is labelled with the zone and the region of its node |
//! | [`pod_resize`] | a pod does not outgrow its node |
//! | [`resource_quota`] | the namespace's `ResourceQuota`s are spent, and not overspent |
//!
//! Not here: `NamespaceLifecycle` (it is in the server), `ServiceAccount`, `PodSecurity`, `NodeDeclaredFeatureValidator`, the
//! plugins for certificates, and webhooks and policies.

mod default_class;
pub mod default_ingress_class;
pub mod default_storage_class;
pub mod default_toleration_seconds;
mod fields;
pub mod limit_ranger;
pub mod pod_resize;
mod pod_resources;
pub mod pod_topology_labels;
pub mod priority;
pub mod pvc_resize;
mod refusal;
mod resource_list;
pub mod resource_quota;
pub mod runtime_class;
mod selection;
pub mod storage_in_use;
mod stored;
pub mod taint_nodes_by_condition;
#[cfg(test)]
mod testing;
mod tolerations;

use std::sync::Arc;

use kubewright_apiserver::admission::Plugin;

use crate::kinds::Environment;
use stored::Stored;

pub use default_ingress_class::DefaultIngressClass;
pub use default_storage_class::DefaultStorageClass;
pub use default_toleration_seconds::DefaultTolerationSeconds;
pub use limit_ranger::LimitRanger;
pub use pod_resize::PodResizeValidator;
pub use pod_topology_labels::PodTopologyLabels;
pub use priority::Priority;
pub use pvc_resize::PersistentVolumeClaimResize;
pub use resource_quota::ResourceQuota;
pub use runtime_class::RuntimeClass;
pub(crate) use selection::Selection;
pub use selection::{PluginName, UnknownPlugin};
pub use storage_in_use::StorageObjectInUseProtection;
pub use taint_nodes_by_condition::TaintNodesByCondition;

/// Returns the selected plugins that come after `NamespaceLifecycle` and before webhooks and quota, in order.
pub(crate) fn plugins(environment: &Environment, selection: &Selection) -> Vec<Arc<dyn Plugin>> {
    let store = Stored(environment.store.clone());
    let all: [(&'static str, Arc<dyn Plugin>); 11] = [
        ("LimitRanger", Arc::new(LimitRanger::new(store.clone()))),
        ("TaintNodesByCondition", Arc::new(TaintNodesByCondition)),
        ("Priority", Arc::new(Priority::new(store.clone()))),
        (
            "DefaultTolerationSeconds",
            Arc::new(DefaultTolerationSeconds),
        ),
        (
            "DefaultStorageClass",
            Arc::new(DefaultStorageClass::new(store.clone())),
        ),
        (
            "StorageObjectInUseProtection",
            Arc::new(StorageObjectInUseProtection),
        ),
        (
            "PersistentVolumeClaimResize",
            Arc::new(PersistentVolumeClaimResize::new(store.clone())),
        ),
        ("RuntimeClass", Arc::new(RuntimeClass::new(store.clone()))),
        (
            "DefaultIngressClass",
            Arc::new(DefaultIngressClass::new(store.clone())),
        ),
        (
            "PodTopologyLabels",
            Arc::new(PodTopologyLabels::new(store.clone())),
        ),
        (
            "PodResizeValidator",
            Arc::new(PodResizeValidator::new(store)),
        ),
    ];
    all.into_iter()
        .filter(|(name, _)| selection.has(name))
        .map(|(_, plugin)| plugin)
        .collect()
}

/// Returns `ResourceQuota`, which has to be the last of the chain, if it is selected.
pub(crate) fn quota(environment: &Environment, selection: &Selection) -> Option<Arc<dyn Plugin>> {
    selection.has("ResourceQuota").then(|| {
        Arc::new(ResourceQuota::new(
            Stored(environment.store.clone()),
            environment.clock.clone(),
        )) as Arc<dyn Plugin>
    })
}

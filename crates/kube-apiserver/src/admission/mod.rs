//! The in-tree admission plugins that kube-apiserver enables by default.
//!
//! Each plugin is a module, and reads other objects from the store when it runs. The order is that of kube-apiserver;
//! [`ResourceQuota`] is last, when no other plugin can reject the write.
//!
//! | module | plugin |
//! |---|---|
//! | [`limit_ranger`] | applies defaults and bounds of the `LimitRange`s of the namespace |
//! | [`service_account`] | gives a pod its account, with a token to call the API; off by default |
//! | [`node_restriction`] | restricts what nodes write; off by default |
//! | [`taint_nodes_by_condition`] | taints new nodes as not ready |
//! | [`priority`] | sets the priority of a pod from its `PriorityClass` |
//! | [`default_toleration_seconds`] | lets pods stay on an unreachable node for five minutes |
//! | [`default_storage_class`] | sets the default class of a claim that names none |
//! | [`storage_in_use`] | adds finalizers to volumes, claims and attribute classes; off by default |
//! | [`pvc_resize`] | allows claims to grow if their class does |
//! | [`runtime_class`] | sets overhead and scheduling from the `RuntimeClass` of a pod |
//! | [`certificates`] | who may decide about certificate signing requests |
//! | [`default_ingress_class`] | sets the default class of an ingress that names none |
//! | [`pod_topology_labels`] | labels a pod with the zone and the region of its node |
//! | [`pod_resize`] | rejects resizes that do not fit on the node |
//! | [`resource_quota`] | enforces the `ResourceQuota`s of the namespace |
//!
//! `inert` warns about objects that nothing acts on yet; only `kubewright up` switches it on.
//!
//! Not implemented: `PodSecurity`, `NodeDeclaredFeatureValidator`, `ClusterTrustBundleAttest`, the plugins for webhooks and
//! policies. `NamespaceLifecycle` is in `kubewright-apiserver`.

pub(crate) mod certificates;
mod default_class;
pub(crate) mod default_ingress_class;
pub(crate) mod default_storage_class;
pub(crate) mod default_toleration_seconds;
mod fields;
mod forbidden;
mod inert;
pub(crate) mod limit_ranger;
#[allow(dead_code, reason = "webhooks and policies are to come")]
pub(crate) mod matching;
pub(crate) mod node_restriction;
pub(crate) mod pod_resize;
mod pod_resources;
pub(crate) mod pod_topology_labels;
pub(crate) mod priority;
pub(crate) mod pvc_resize;
mod resource_list;
pub(crate) mod resource_quota;
pub(crate) mod runtime_class;
mod selection;
pub(crate) mod service_account;
pub(crate) mod storage_in_use;
pub(crate) mod stored;
pub(crate) mod taint_nodes_by_condition;
#[cfg(test)]
mod testing;
mod tolerations;
#[allow(
    dead_code,
    unused_imports,
    reason = "webhooks and policies are to come"
)]
pub(crate) mod versioned;

use std::sync::Arc;

use kubewright_apiserver::admission::Plugin;

use crate::kinds::Environment;
use stored::Stored;

pub(crate) use certificates::{
    CertificateApproval, CertificateSigning, CertificateSubjectRestriction,
};
pub(crate) use default_ingress_class::DefaultIngressClass;
pub(crate) use default_storage_class::DefaultStorageClass;
pub(crate) use default_toleration_seconds::DefaultTolerationSeconds;
pub(crate) use inert::InertWarning;
pub(crate) use limit_ranger::LimitRanger;
pub(crate) use node_restriction::NodeRestriction;
pub(crate) use pod_resize::PodResizeValidator;
pub(crate) use pod_topology_labels::PodTopologyLabels;
pub(crate) use priority::Priority;
pub(crate) use pvc_resize::PersistentVolumeClaimResize;
pub(crate) use resource_quota::ResourceQuota;
pub(crate) use runtime_class::RuntimeClass;
pub(crate) use selection::Selection;
pub use selection::{PluginName, UnknownPlugin};
pub(crate) use service_account::ServiceAccount;
pub(crate) use storage_in_use::StorageObjectInUseProtection;
pub(crate) use taint_nodes_by_condition::TaintNodesByCondition;

/// Returns the selected plugins between `NamespaceLifecycle` and webhooks, in order.
pub(crate) fn plugins(environment: &Environment, selection: &Selection) -> Vec<Arc<dyn Plugin>> {
    let store = Stored(environment.store.clone());
    let all: [(&'static str, Arc<dyn Plugin>); 16] = [
        ("LimitRanger", Arc::new(LimitRanger::new(store.clone()))),
        (
            "ServiceAccount",
            Arc::new(ServiceAccount::new(store.clone())),
        ),
        (
            "NodeRestriction",
            Arc::new(NodeRestriction::new(store.clone())),
        ),
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
        ("CertificateApproval", Arc::new(CertificateApproval)),
        ("CertificateSigning", Arc::new(CertificateSigning)),
        (
            "CertificateSubjectRestriction",
            Arc::new(CertificateSubjectRestriction),
        ),
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

/// Returns `ResourceQuota`, which must be the last plugin, if it is selected.
pub(crate) fn quota(environment: &Environment, selection: &Selection) -> Option<Arc<dyn Plugin>> {
    selection.has("ResourceQuota").then(|| {
        Arc::new(ResourceQuota::new(
            Stored(environment.store.clone()),
            environment.clock.clone(),
        )) as Arc<dyn Plugin>
    })
}

//! The in-tree admission plugins of kube-apiserver.
//!
//! Each plugin is a module, and reads other objects from the store when it runs. The order is that of kube-apiserver;
//! [`ResourceQuota`] comes when no other plugin can reject the write.
//!
//! | module | plugin |
//! |---|---|
//! | [`namespace_exists`] | rejects writes in missing namespaces, or creates these; off by default |
//! | [`anti_affinity_topology`] | limits what pods may keep others off; off by default |
//! | [`limit_ranger`] | applies defaults and bounds of the `LimitRange`s of the namespace |
//! | [`service_account`] | gives a pod its account, with a token to call the API; off by default |
//! | [`node_restriction`] | restricts what nodes write; off by default |
//! | [`taint_nodes_by_condition`] | taints new nodes as not ready |
//! | [`always_pull_images`] | pulls the images of every pod; off by default |
//! | [`pod_security`] | holds pods to the standards that the labels of their namespace ask for |
//! | [`pod_node_selector`] | selects the nodes of a namespace's pods; off by default |
//! | [`priority`] | sets the priority of a pod from its `PriorityClass` |
//! | [`default_toleration_seconds`] | lets pods stay on an unreachable node for five minutes |
//! | [`pod_toleration_restriction`] | gives the pods of a namespace tolerations, and restricts them; off by default |
//! | [`extended_resource_toleration`] | tolerates the taints of nodes with extended resources; off by default |
//! | [`default_storage_class`] | sets the default class of a claim that names none |
//! | [`storage_in_use`] | adds finalizers to volumes, claims and attribute classes |
//! | [`owner_references`] | permissions to change the owners of an object; off by default |
//! | [`pvc_resize`] | allows claims to grow if their class does |
//! | [`runtime_class`] | sets overhead and scheduling from the `RuntimeClass` of a pod |
//! | [`certificates`] | permissions to approve and sign certificate signing requests |
//! | [`default_ingress_class`] | sets the default class of an ingress that names none |
//! | [`deny_external_ips`] | services get no external addresses; off by default |
//! | [`pod_topology_labels`] | labels a pod with the zone and the region of its node |
//! | [`node_declared_features`] | rejects updates that need features which the node does not declare |
//! | [`pod_resize`] | rejects resizes that do not fit on the node |
//! | [`policy`] | evaluates the admission policies of the cluster |
//! | [`webhook`] | calls the admission webhooks of the cluster |
//! | [`resource_quota`] | enforces the `ResourceQuota`s of the namespace |
//! | [`always_deny`] | rejects everything; off by default |
//!
//! Not implemented: the plugins that need a configuration file (`ImagePolicyWebhook`, `EventRateLimit`). The plugins of
//! features that are off by default have only their names. `NamespaceLifecycle` is in `kubewright-apiserver`.

pub(crate) mod always_deny;
pub(crate) mod always_pull_images;
pub(crate) mod anti_affinity_topology;
pub(crate) mod certificates;
mod default_class;
pub(crate) mod default_ingress_class;
pub(crate) mod default_storage_class;
pub(crate) mod default_toleration_seconds;
pub(crate) mod deny_external_ips;
pub(crate) mod extended_resource_toleration;
mod fields;
mod forbidden;
pub(crate) mod limit_ranger;
pub(crate) mod matching;
mod metrics;
pub(crate) mod namespace_exists;
pub(crate) mod node_declared_features;
pub(crate) mod node_restriction;
pub(crate) mod owner_references;
pub(crate) mod pod_node_selector;
pub(crate) mod pod_resize;
pub(crate) mod pod_security;
pub(crate) mod pod_toleration_restriction;
pub(crate) mod pod_topology_labels;
pub(crate) mod policy;
pub(crate) mod priority;
pub(crate) mod pvc_resize;
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
pub(crate) mod versioned;
pub(crate) mod webhook;

use std::sync::Arc;

use kubewright_apiserver::admission::Plugin;

use crate::kinds::Environment;
use stored::Stored;

pub(crate) use always_deny::AlwaysDeny;
pub(crate) use always_pull_images::AlwaysPullImages;
pub(crate) use anti_affinity_topology::LimitPodHardAntiAffinityTopology;
pub(crate) use certificates::{
    CertificateApproval, CertificateSigning, CertificateSubjectRestriction,
};
pub(crate) use default_ingress_class::DefaultIngressClass;
pub(crate) use default_storage_class::DefaultStorageClass;
pub(crate) use default_toleration_seconds::DefaultTolerationSeconds;
pub(crate) use deny_external_ips::DenyServiceExternalIPs;
pub(crate) use extended_resource_toleration::ExtendedResourceToleration;
pub(crate) use limit_ranger::LimitRanger;
pub(crate) use metrics::AdmissionMetrics;
pub(crate) use namespace_exists::{NamespaceAutoProvision, NamespaceExists};
pub(crate) use node_declared_features::NodeDeclaredFeatureValidator;
pub(crate) use node_restriction::NodeRestriction;
pub(crate) use owner_references::OwnerReferencesPermissionEnforcement;
pub(crate) use pod_node_selector::PodNodeSelector;
pub(crate) use pod_resize::PodResizeValidator;
pub(crate) use pod_security::PodSecurity;
pub use pod_security::{
    InvalidPluginConfiguration, InvalidPodSecurityLevel, InvalidPodSecurityVersion,
    PodSecurityConfiguration, PodSecurityLevel, PodSecurityVersion,
};
pub(crate) use pod_toleration_restriction::PodTolerationRestriction;
pub(crate) use pod_topology_labels::PodTopologyLabels;
pub(crate) use policy::{mutating::MutatingAdmissionPolicy, validating::ValidatingAdmissionPolicy};
pub(crate) use priority::Priority;
pub(crate) use pvc_resize::PersistentVolumeClaimResize;
pub(crate) use resource_quota::ResourceQuota;
pub(crate) use runtime_class::RuntimeClass;
pub(crate) use selection::Selection;
pub use selection::{PluginName, UnknownPlugin, UnsupportedPlugin};
pub(crate) use service_account::ServiceAccount;
pub(crate) use storage_in_use::StorageObjectInUseProtection;
pub(crate) use taint_nodes_by_condition::TaintNodesByCondition;
use webhook::{MutatingAdmissionWebhook, ValidatingAdmissionWebhook, Webhooks};

/// Returns the selected plugins between `NamespaceLifecycle` and policies, in order.
pub(crate) fn plugins(
    environment: &Environment,
    selection: &Selection,
    pod_security: PodSecurityConfiguration,
    metrics: &AdmissionMetrics,
) -> Vec<Arc<dyn Plugin>> {
    let store = || Stored(environment.store.clone());
    let selected = selection::IMPLEMENTED
        .iter()
        .filter(|name| selection.has(name));
    selected
        .filter_map(|name| plugin(name, store(), &pod_security, metrics))
        .collect()
}

/// Builds a plugin between `NamespaceLifecycle` and policies. Returns `None` for the others.
fn plugin(
    name: &str,
    store: Stored,
    pod_security: &PodSecurityConfiguration,
    metrics: &AdmissionMetrics,
) -> Option<Arc<dyn Plugin>> {
    Some(match name {
        "NamespaceExists" => Arc::new(NamespaceExists::new(store)),
        "LimitPodHardAntiAffinityTopology" => Arc::new(LimitPodHardAntiAffinityTopology),
        "LimitRanger" => Arc::new(LimitRanger::new(store)),
        "ServiceAccount" => Arc::new(ServiceAccount::new(store)),
        "NodeRestriction" => Arc::new(NodeRestriction::new(store)),
        "TaintNodesByCondition" => Arc::new(TaintNodesByCondition),
        "AlwaysPullImages" => Arc::new(AlwaysPullImages),
        "PodSecurity" => {
            let metrics = metrics.pod_security.clone();
            Arc::new(PodSecurity::new(store, pod_security.clone(), metrics))
        }
        "PodNodeSelector" => Arc::new(PodNodeSelector::new(store)),
        "Priority" => Arc::new(Priority::new(store)),
        "DefaultTolerationSeconds" => Arc::new(DefaultTolerationSeconds),
        "PodTolerationRestriction" => Arc::new(PodTolerationRestriction::new(store)),
        "ExtendedResourceToleration" => Arc::new(ExtendedResourceToleration),
        "DefaultStorageClass" => Arc::new(DefaultStorageClass::new(store)),
        "StorageObjectInUseProtection" => Arc::new(StorageObjectInUseProtection),
        "OwnerReferencesPermissionEnforcement" => {
            Arc::new(OwnerReferencesPermissionEnforcement::new(store))
        }
        "PersistentVolumeClaimResize" => Arc::new(PersistentVolumeClaimResize::new(store)),
        "RuntimeClass" => Arc::new(RuntimeClass::new(store)),
        "CertificateApproval" => Arc::new(CertificateApproval),
        "CertificateSigning" => Arc::new(CertificateSigning),
        "CertificateSubjectRestriction" => Arc::new(CertificateSubjectRestriction),
        "DefaultIngressClass" => Arc::new(DefaultIngressClass::new(store)),
        "DenyServiceExternalIPs" => Arc::new(DenyServiceExternalIPs),
        "PodTopologyLabels" => Arc::new(PodTopologyLabels::new(store)),
        "NodeDeclaredFeatureValidator" => Arc::new(NodeDeclaredFeatureValidator::new(store)),
        "PodResizeValidator" => Arc::new(PodResizeValidator::new(store)),
        _ => return None,
    })
}

/// Returns the selected plugins that evaluate policies and call webhooks, in order.
pub(crate) fn policies_and_webhooks(
    environment: &Environment,
    selection: &Selection,
    metrics: &AdmissionMetrics,
) -> Vec<Arc<dyn Plugin>> {
    let AdmissionMetrics {
        webhooks, policies, ..
    } = metrics;
    let mutating = Webhooks::new(environment, &environment.mutating_webhooks, webhooks);
    let validating = Webhooks::new(environment, &environment.validating_webhooks, webhooks);
    let all: [(&'static str, Arc<dyn Plugin>); 4] = [
        (
            "MutatingAdmissionPolicy",
            Arc::new(MutatingAdmissionPolicy::new(environment, policies)),
        ),
        (
            "MutatingAdmissionWebhook",
            Arc::new(MutatingAdmissionWebhook(mutating)),
        ),
        (
            "ValidatingAdmissionPolicy",
            Arc::new(ValidatingAdmissionPolicy::new(environment, policies)),
        ),
        (
            "ValidatingAdmissionWebhook",
            Arc::new(ValidatingAdmissionWebhook(validating)),
        ),
    ];
    all.into_iter()
        .filter(|(name, _)| selection.has(name))
        .map(|(_, plugin)| plugin)
        .collect()
}

/// Returns `NamespaceAutoProvision`, which must be the first plugin, if it is selected. It has to be started.
pub(crate) fn provision(
    environment: &Environment,
    selection: &Selection,
) -> Option<Arc<NamespaceAutoProvision>> {
    let store = Stored(environment.store.clone());
    let selected = selection.has("NamespaceAutoProvision");
    selected.then(|| Arc::new(NamespaceAutoProvision::new(store)))
}

/// Returns the selected plugins that must be the last ones: `ResourceQuota`, and `AlwaysDeny`.
pub(crate) fn last_plugins(
    environment: &Environment,
    selection: &Selection,
) -> Vec<Arc<dyn Plugin>> {
    let mut last = Vec::<Arc<dyn Plugin>>::new();
    if selection.has("ResourceQuota") {
        let store = Stored(environment.store.clone());
        let quota = ResourceQuota::new(store, environment.clock.clone());
        last.push(Arc::new(quota));
    }
    if selection.has("AlwaysDeny") {
        last.push(Arc::new(AlwaysDeny));
    }
    last
}

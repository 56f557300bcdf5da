//! The names of the controllers as in kube-controller-manager, and their older short names.

use std::{fmt, str::FromStr};

/// A built-in controller.
///
/// ```
/// use kubewright_builtin_controllers::Name;
///
/// let name: Name = "namespace".parse().unwrap();
/// assert_eq!(name.to_string(), "namespace-controller");
/// assert!("gardener".parse::<Name>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    /// `namespace-controller`, or `namespace`.
    Namespace,
    /// `garbage-collector-controller`, or `garbagecollector`.
    GarbageCollector,
    /// `serviceaccount-controller`, or `serviceaccount`.
    ServiceAccount,
    /// `root-ca-certificate-publisher-controller`, or `root-ca-cert-publisher`.
    RootCaPublisher,
    /// `persistentvolumeclaim-protection-controller`, or `pvc-protection`.
    ClaimProtection,
    /// `persistentvolume-protection-controller`, or `pv-protection`.
    VolumeProtection,
    /// `volumeattributesclass-protection-controller`.
    ClassProtection,
    /// `serviceaccount-token-controller`, or `serviceaccount-token`. It runs if there is a
    /// [token generator](crate::Controllers::token_generator).
    ServiceAccountToken,
    /// `certificatesigningrequest-signing-controller`, or `csrsigning`. It runs if there is an
    /// [authority](crate::Controllers::authority).
    RequestSigning,
    /// `certificatesigningrequest-approving-controller`, or `csrapproving`.
    RequestApproving,
    /// `certificatesigningrequest-cleaner-controller`, or `csrcleaner`.
    RequestCleaner,
    /// `clusterrole-aggregation-controller`, or `clusterrole-aggregation`.
    ClusterRoleAggregation,
    /// `validatingadmissionpolicy-status-controller`, or `validatingadmissionpolicy-status`.
    PolicyStatus,
    /// `replicationcontroller-controller`, or `replicationcontroller`.
    ReplicationController,
    /// `replicaset-controller`, or `replicaset`.
    ReplicaSet,
    /// `deployment-controller`, or `deployment`.
    Deployment,
    /// `statefulset-controller`, or `statefulset`.
    StatefulSet,
    /// `daemonset-controller`, or `daemonset`.
    DaemonSet,
    /// `job-controller`, or `job`.
    Job,
    /// `cronjob-controller`, or `cronjob`.
    CronJob,
    /// `ttl-after-finished-controller`, or `ttl-after-finished`.
    TtlAfterFinished,
    /// `endpoints-controller`, or `endpoint`.
    Endpoints,
    /// `endpointslice-controller`, or `endpointslice`.
    EndpointSlice,
    /// `disruption-controller`, or `disruption`.
    Disruption,
    /// `pod-garbage-collector-controller`, or `podgc`.
    PodGarbageCollector,
    /// `node-lifecycle-controller`, or `nodelifecycle`.
    NodeLifecycle,
    /// `taint-eviction-controller`.
    TaintEviction,
    /// `node-ipam-controller`, or `nodeipam`.
    NodeIpam,
    /// `resourcequota-controller`, or `resourcequota`.
    ResourceQuota,
    /// `persistentvolume-binder-controller`, or `persistentvolume-binder`.
    VolumeBinder,
    /// `persistentvolume-expander-controller`, or `persistentvolume-expander`.
    VolumeExpander,
    /// `ephemeral-volume-controller`, or `ephemeral-volume`.
    EphemeralVolume,
    /// `simulated-volume-provisioner`, which kube-controller-manager does not have.
    VolumeProvisioner,
    /// `horizontal-pod-autoscaler-controller`, or `horizontalpodautoscaling`.
    HorizontalPodAutoscaler,
    /// `endpointslice-mirroring-controller`, or `endpointslicemirroring`.
    EndpointSliceMirroring,
    /// `simulated-load-balancer`, which kube-controller-manager does not have. It runs only if it is named.
    LoadBalancer,
}

/// There is no controller of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not in the list of known controllers: {}", Name::list())]
pub struct UnknownController {
    /// The unknown name.
    pub name: String,
}

impl Name {
    /// All controllers.
    pub const ALL: [Self; 36] = [
        Self::Namespace,
        Self::GarbageCollector,
        Self::ServiceAccount,
        Self::RootCaPublisher,
        Self::ClaimProtection,
        Self::VolumeProtection,
        Self::ClassProtection,
        Self::ServiceAccountToken,
        Self::RequestSigning,
        Self::RequestApproving,
        Self::RequestCleaner,
        Self::ClusterRoleAggregation,
        Self::PolicyStatus,
        Self::ReplicationController,
        Self::ReplicaSet,
        Self::Deployment,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::CronJob,
        Self::TtlAfterFinished,
        Self::Endpoints,
        Self::EndpointSlice,
        Self::Disruption,
        Self::PodGarbageCollector,
        Self::NodeLifecycle,
        Self::TaintEviction,
        Self::NodeIpam,
        Self::ResourceQuota,
        Self::VolumeBinder,
        Self::VolumeExpander,
        Self::EphemeralVolume,
        Self::VolumeProvisioner,
        Self::HorizontalPodAutoscaler,
        Self::EndpointSliceMirroring,
        Self::LoadBalancer,
    ];

    /// Reports whether the controller is about workloads: it acts for objects that users create. The others do what every
    /// cluster needs, such as emptying deleted namespaces.
    pub fn is_workload(self) -> bool {
        self >= Self::ReplicationController
    }

    /// Reports whether the controller runs only if it is named: `*` does not include it.
    pub fn is_optional(self) -> bool {
        self == Self::LoadBalancer
    }

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespace => "namespace-controller",
            Self::GarbageCollector => "garbage-collector-controller",
            Self::ServiceAccount => "serviceaccount-controller",
            Self::RootCaPublisher => "root-ca-certificate-publisher-controller",
            Self::ClaimProtection => "persistentvolumeclaim-protection-controller",
            Self::VolumeProtection => "persistentvolume-protection-controller",
            Self::ClassProtection => "volumeattributesclass-protection-controller",
            Self::ServiceAccountToken => "serviceaccount-token-controller",
            Self::RequestSigning => "certificatesigningrequest-signing-controller",
            Self::RequestApproving => "certificatesigningrequest-approving-controller",
            Self::RequestCleaner => "certificatesigningrequest-cleaner-controller",
            Self::ClusterRoleAggregation => "clusterrole-aggregation-controller",
            Self::PolicyStatus => "validatingadmissionpolicy-status-controller",
            Self::ReplicationController => "replicationcontroller-controller",
            Self::ReplicaSet => "replicaset-controller",
            Self::Deployment => "deployment-controller",
            Self::StatefulSet => "statefulset-controller",
            Self::DaemonSet => "daemonset-controller",
            Self::Job => "job-controller",
            Self::CronJob => "cronjob-controller",
            Self::TtlAfterFinished => "ttl-after-finished-controller",
            Self::Endpoints => "endpoints-controller",
            Self::EndpointSlice => "endpointslice-controller",
            Self::Disruption => "disruption-controller",
            Self::PodGarbageCollector => "pod-garbage-collector-controller",
            Self::NodeLifecycle => "node-lifecycle-controller",
            Self::TaintEviction => "taint-eviction-controller",
            Self::NodeIpam => "node-ipam-controller",
            Self::ResourceQuota => "resourcequota-controller",
            Self::VolumeBinder => "persistentvolume-binder-controller",
            Self::VolumeExpander => "persistentvolume-expander-controller",
            Self::EphemeralVolume => "ephemeral-volume-controller",
            Self::VolumeProvisioner => "simulated-volume-provisioner",
            Self::HorizontalPodAutoscaler => "horizontal-pod-autoscaler-controller",
            Self::EndpointSliceMirroring => "endpointslice-mirroring-controller",
            Self::LoadBalancer => "simulated-load-balancer",
        }
    }

    /// Returns the alternative names.
    pub fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Namespace => &["namespace"],
            Self::GarbageCollector => &["garbagecollector"],
            Self::ServiceAccount => &["serviceaccount"],
            Self::RootCaPublisher => &["root-ca-cert-publisher", "root-ca-certificate-publisher"],
            Self::ClaimProtection => &["pvc-protection"],
            Self::VolumeProtection => &["pv-protection"],
            Self::ClassProtection => &[],
            Self::ServiceAccountToken => &["serviceaccount-token"],
            Self::RequestSigning => &["csrsigning"],
            Self::RequestApproving => &["csrapproving"],
            Self::RequestCleaner => &["csrcleaner"],
            Self::ClusterRoleAggregation => &["clusterrole-aggregation"],
            Self::PolicyStatus => &["validatingadmissionpolicy-status"],
            Self::ReplicationController => &["replicationcontroller"],
            Self::ReplicaSet => &["replicaset"],
            Self::Deployment => &["deployment"],
            Self::StatefulSet => &["statefulset"],
            Self::DaemonSet => &["daemonset"],
            Self::Job => &["job"],
            Self::CronJob => &["cronjob"],
            Self::TtlAfterFinished => &["ttl-after-finished"],
            Self::Endpoints => &["endpoint"],
            Self::EndpointSlice => &["endpointslice"],
            Self::Disruption => &["disruption"],
            Self::PodGarbageCollector => &["podgc"],
            Self::NodeLifecycle => &["nodelifecycle"],
            Self::TaintEviction => &[],
            Self::NodeIpam => &["nodeipam"],
            Self::ResourceQuota => &["resourcequota"],
            Self::VolumeBinder => &["persistentvolume-binder"],
            Self::VolumeExpander => &["persistentvolume-expander"],
            Self::EphemeralVolume => &["ephemeral-volume"],
            Self::VolumeProvisioner => &[],
            Self::HorizontalPodAutoscaler => &["horizontalpodautoscaling"],
            Self::EndpointSliceMirroring => &["endpointslicemirroring"],
            Self::LoadBalancer => &[],
        }
    }

    fn list() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

impl FromStr for Name {
    type Err = UnknownController;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_it = |name: &Self| name.as_str() == text || name.aliases().contains(&text);
        Self::ALL
            .into_iter()
            .find(is_it)
            .ok_or_else(|| UnknownController {
                name: text.to_owned(),
            })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_alias_is_understood() {
        for name in Name::ALL {
            assert_eq!(name.as_str().parse(), Ok(name));
            for alias in name.aliases() {
                assert_eq!(alias.parse(), Ok(name));
            }
        }
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        let error = "gardener".parse::<Name>().unwrap_err().to_string();
        assert!(
            error.starts_with("\"gardener\" is not in the list of known controllers: namespace-"),
            "{error}"
        );
    }
}

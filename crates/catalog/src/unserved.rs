//! Versions of built-in kinds that kube-apiserver can still read but does not serve.
//!
//! A body in one of them is recognized, and rejected for its version; any other version is unknown.

/// Kinds by group and version; each has a list kind too.
const UNSERVED: &[(&str, &str, &[&str])] = &[
    (
        "admissionregistration.k8s.io",
        "v1alpha1",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        "v1beta1",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    (
        "apps",
        "v1beta1",
        &["ControllerRevision", "Deployment", "Scale", "StatefulSet"],
    ),
    (
        "apps",
        "v1beta2",
        &[
            "ControllerRevision",
            "DaemonSet",
            "Deployment",
            "ReplicaSet",
            "Scale",
            "StatefulSet",
        ],
    ),
    ("authentication.k8s.io", "v1alpha1", &["SelfSubjectReview"]),
    (
        "authentication.k8s.io",
        "v1beta1",
        &["SelfSubjectReview", "TokenReview"],
    ),
    (
        "authorization.k8s.io",
        "v1beta1",
        &[
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
    ),
    ("batch", "v1beta1", &["CronJob"]),
    ("certificates.k8s.io", "v1alpha1", &["ClusterTrustBundle"]),
    (
        "certificates.k8s.io",
        "v1beta1",
        &[
            "CertificateSigningRequest",
            "ClusterTrustBundle",
            "PodCertificateRequest",
        ],
    ),
    ("coordination.k8s.io", "v1alpha2", &["LeaseCandidate"]),
    (
        "coordination.k8s.io",
        "v1beta1",
        &["Lease", "LeaseCandidate"],
    ),
    ("discovery.k8s.io", "v1beta1", &["EndpointSlice"]),
    ("events.k8s.io", "v1beta1", &["Event"]),
    (
        "extensions",
        "v1beta1",
        &[
            "DaemonSet",
            "Deployment",
            "Ingress",
            "NetworkPolicy",
            "ReplicaSet",
            "Scale",
        ],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1beta1",
        &["FlowSchema", "PriorityLevelConfiguration"],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1beta2",
        &["FlowSchema", "PriorityLevelConfiguration"],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1beta3",
        &["FlowSchema", "PriorityLevelConfiguration"],
    ),
    (
        "networking.k8s.io",
        "v1beta1",
        &["IPAddress", "Ingress", "IngressClass", "ServiceCIDR"],
    ),
    ("node.k8s.io", "v1alpha1", &["RuntimeClass"]),
    ("node.k8s.io", "v1beta1", &["RuntimeClass"]),
    ("policy", "v1beta1", &["Eviction", "PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", "v1alpha1", RBAC),
    ("rbac.authorization.k8s.io", "v1beta1", RBAC),
    ("resource.k8s.io", "v1beta1", DEVICES),
    ("resource.k8s.io", "v1beta2", DEVICES),
    ("scheduling.k8s.io", "v1beta1", &["PriorityClass"]),
    (
        "storage.k8s.io",
        "v1alpha1",
        &[
            "CSIStorageCapacity",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
    ),
    (
        "storage.k8s.io",
        "v1beta1",
        &[
            "CSIDriver",
            "CSINode",
            "CSIStorageCapacity",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
    ),
];

const RBAC: &[&str] = &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
const DEVICES: &[&str] = &[
    "DeviceClass",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
];

/// Reports whether kube-apiserver can read a kind in this version, served or not.
///
/// ```
/// use kubewright_catalog::is_known_kind;
///
/// assert!(is_known_kind("apps", "v1beta1", "Deployment"));
/// assert!(!is_known_kind("example.com", "v1", "Captain"));
/// ```
pub fn is_known_kind(group: &str, version: &str, kind: &str) -> bool {
    crate::kind_type(group, version, kind).is_some()
        || UNSERVED.iter().any(|(g, v, kinds)| {
            (*g, *v) == (group, version)
                && (kinds.contains(&kind)
                    || kind
                        .strip_suffix("List")
                        .is_some_and(|k| kinds.contains(&k)))
        })
}

/// Returns the group that a kind belongs to inside kube-apiserver: some kinds moved, and are the same kind in both groups.
///
/// ```
/// use kubewright_catalog::home_group;
///
/// assert_eq!(home_group("extensions", "Deployment"), "apps");
/// assert_eq!(home_group("batch", "Job"), "batch");
/// ```
pub fn home_group<'a>(group: &'a str, kind: &str) -> &'a str {
    match (group, kind.strip_suffix("List").unwrap_or(kind)) {
        ("extensions", "DaemonSet" | "Deployment" | "ReplicaSet") => "apps",
        ("extensions", "Ingress" | "NetworkPolicy") => "networking.k8s.io",
        ("extensions" | "apps", "Scale") => "autoscaling",
        ("events.k8s.io", "Event") => "",
        _ => group,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_known_and_others_are_not() {
        assert!(is_known_kind("apps", "v1", "Deployment"));
        assert!(is_known_kind("extensions", "v1beta1", "Deployment"));
        assert!(is_known_kind("extensions", "v1beta1", "DeploymentList"));
        assert!(!is_known_kind("apps", "v9", "Deployment"));
        assert!(!is_known_kind("extensions", "v1beta1", "Pod"));
    }

    #[test]
    fn kinds_that_moved_are_one_kind() {
        assert_eq!(home_group("extensions", "Ingress"), "networking.k8s.io");
        assert_eq!(home_group("events.k8s.io", "Event"), "");
        assert_eq!(home_group("apps", "Deployment"), "apps");
    }
}

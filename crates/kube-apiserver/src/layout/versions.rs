//! Versions that are not served, but whose objects may be stored: kube-apiserver writes a kind in its older version until every
//! supported release can read the newer one.

/// Returns whether objects of a version have the fields of `v1`.
pub(super) fn has_fields_of_v1(group: &str, kind: &str, version: &str) -> bool {
    let versions: &[&str] = match (group, kind) {
        (
            "admissionregistration.k8s.io",
            "MutatingAdmissionPolicy"
            | "MutatingAdmissionPolicyBinding"
            | "ValidatingAdmissionPolicy"
            | "ValidatingAdmissionPolicyBinding",
        )
        | ("networking.k8s.io", "IPAddress" | "ServiceCIDR")
        | ("storage.k8s.io", "VolumeAttributesClass") => &["v1alpha1", "v1beta1"],
        (
            "resource.k8s.io",
            "DeviceClass" | "ResourceClaim" | "ResourceClaimTemplate" | "ResourceSlice",
        ) => &["v1beta2"],
        ("flowcontrol.apiserver.k8s.io", "FlowSchema" | "PriorityLevelConfiguration") => {
            &["v1beta3"]
        }
        _ => &[],
    };
    versions.contains(&version)
}

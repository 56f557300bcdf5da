//! Go structs that are embedded in others. The tables show them flattened, as JSON does; type mismatches name them.

use kubewright_catalog::types::StructType;

/// The embedded structs on the way to a field, outermost first.
pub(super) fn go_names(ty: &StructType, field: &str) -> &'static [&'static str] {
    match (ty.name, field) {
        (_, "kind" | "apiVersion") if is_object(ty) => &["TypeMeta"],
        ("Volume", "name") => &[],
        ("Volume", _) => &["VolumeSource"],
        (
            "PersistentVolumeSpec",
            "capacity"
            | "accessModes"
            | "claimRef"
            | "persistentVolumeReclaimPolicy"
            | "storageClassName"
            | "mountOptions"
            | "volumeMode"
            | "nodeAffinity"
            | "volumeAttributesClassName",
        ) => &[],
        ("PersistentVolumeSpec", _) => &["PersistentVolumeSource"],
        ("Probe", "exec" | "httpGet" | "tcpSocket" | "grpc") => &["ProbeHandler"],
        ("EphemeralContainer", "targetContainerName") => &[],
        ("EphemeralContainer", _) => &["EphemeralContainerCommon"],
        (
            "SecretEnvSource"
            | "ConfigMapEnvSource"
            | "SecretKeySelector"
            | "ConfigMapKeySelector"
            | "SecretProjection"
            | "ConfigMapProjection"
            | "ConfigMapVolumeSource",
            "name",
        ) => &["LocalObjectReference"],
        ("IngressRule", "http") => &["IngressRuleValue"],
        (
            "DeviceClaimConfiguration"
            | "DeviceAllocationConfiguration"
            | "DeviceClassConfiguration",
            "opaque",
        ) => &["DeviceConfiguration"],
        ("RuleWithOperations", "operations") => &[],
        ("RuleWithOperations", _) => &["Rule"],
        ("NamedRuleWithOperations", "resourceNames") => &[],
        ("NamedRuleWithOperations", "operations") => &["RuleWithOperations"],
        ("NamedRuleWithOperations", _) => &["RuleWithOperations", "Rule"],
        _ => &[],
    }
}

/// References have both fields too, but no metadata.
fn is_object(ty: &StructType) -> bool {
    ty.field("metadata").is_some()
}

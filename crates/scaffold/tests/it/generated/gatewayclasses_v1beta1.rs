//! `GatewayClass` of gateway.networking.k8s.io/v1beta1, made by `kubewright import crd`.

#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]

use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

/// ParametersRef is a reference to a resource that contains the configuration
/// parameters corresponding to the GatewayClass. This is optional if the
/// controller does not require any additional configuration.
///
/// ParametersRef can reference a standard Kubernetes resource, i.e. ConfigMap,
/// or an implementation-specific custom resource. The resource can be
/// cluster-scoped or namespace-scoped.
///
/// If the referent cannot be found, refers to an unsupported kind, or when
/// the data within that resource is malformed, the GatewayClass SHOULD be
/// rejected with the "Accepted" status condition set to "False" and an
/// "InvalidParameters" reason.
///
/// A Gateway for this GatewayClass may provide its own `parametersRef`. When both are specified,
/// the merging behavior is implementation specific.
/// It is generally recommended that GatewayClass provides defaults that can be overridden by a Gateway.
///
/// Support: Implementation-specific
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct ParametersRef {
    /// Group is the group of the referent.
    #[schema(max_length = 253, pattern = "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")]
    pub group: String,
    /// Kind is kind of the referent.
    #[schema(max_length = 63, min_length = 1, pattern = "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$")]
    pub kind: String,
    /// Name is the name of the referent.
    #[schema(max_length = 253, min_length = 1)]
    pub name: String,
    /// Namespace is the namespace of the referent.
    /// This field is required when referring to a Namespace-scoped resource and
    /// MUST be unset when referring to a Cluster-scoped resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 63, min_length = 1, pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
    pub namespace: Option<String>,
}

/// Spec defines the desired state of GatewayClass.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[kube(
    group = "gateway.networking.k8s.io",
    version = "v1beta1",
    kind = "GatewayClass",
    plural = "gatewayclasses",
    singular = "gatewayclass",
    status = "GatewayClassStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "GatewayClass describes a class of Gateways available to the user for creating\nGateway resources.\n\nIt is recommended that this resource be used as a template for Gateways. This\nmeans that a Gateway is based on the state of the GatewayClass at the time it\nwas created and changes to the GatewayClass or associated parameters are not\npropagated down to existing Gateways. This recommendation is intended to\nlimit the blast radius of changes to GatewayClass or associated parameters.\nIf implementations choose to propagate GatewayClass changes to existing\nGateways, that MUST be clearly documented by the implementation.\n\nWhenever one or more Gateways are using a GatewayClass, implementations SHOULD\nadd the `gateway-exists-finalizer.gateway.networking.k8s.io` finalizer on the\nassociated GatewayClass. This ensures that a GatewayClass associated with a\nGateway is not deleted while in use.\n\nGatewayClass is a Cluster level resource.",
    shortname = "gc",
    category = "gateway-api",
    printcolumn(name = "Controller", type_ = "string", json_path = ".spec.controllerName"),
    printcolumn(name = "Accepted", type_ = "string", json_path = ".status.conditions[?(@.type==\"Accepted\")].status"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Description", type_ = "string", json_path = ".spec.description", priority = 1),
    storage = false,
)]
#[crd(
    annotation("api-approved.kubernetes.io", "https://github.com/kubernetes-sigs/gateway-api/pull/3328"),
    annotation("gateway.networking.k8s.io/bundle-version", "v1.4.0"),
    annotation("gateway.networking.k8s.io/channel", "standard"),
)]
#[serde(rename_all = "camelCase")]
pub struct GatewayClassSpec {
    /// ControllerName is the name of the controller that is managing Gateways of
    /// this class. The value of this field MUST be a domain prefixed path.
    ///
    /// Example: "example.net/gateway-controller".
    ///
    /// This field is not mutable and cannot be empty.
    ///
    /// Support: Core
    #[schema(max_length = 253, min_length = 1, pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9\\/\\-._~%!$&'()*+,;=:]+$", rule("self == oldSelf", message = "Value is immutable"))]
    pub controller_name: String,
    /// Description helps describe a GatewayClass with more details.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub description: Option<String>,
    /// ParametersRef is a reference to a resource that contains the configuration
    /// parameters corresponding to the GatewayClass. This is optional if the
    /// controller does not require any additional configuration.
    ///
    /// ParametersRef can reference a standard Kubernetes resource, i.e. ConfigMap,
    /// or an implementation-specific custom resource. The resource can be
    /// cluster-scoped or namespace-scoped.
    ///
    /// If the referent cannot be found, refers to an unsupported kind, or when
    /// the data within that resource is malformed, the GatewayClass SHOULD be
    /// rejected with the "Accepted" status condition set to "False" and an
    /// "InvalidParameters" reason.
    ///
    /// A Gateway for this GatewayClass may provide its own `parametersRef`. When both are specified,
    /// the merging behavior is implementation specific.
    /// It is generally recommended that GatewayClass provides defaults that can be overridden by a Gateway.
    ///
    /// Support: Implementation-specific
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters_ref: Option<ParametersRef>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Status {
    True,
    False,
    Unknown,
}

/// Condition contains details for one aspect of the current state of this API Resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// lastTransitionTime is the last time the condition transitioned from one status to another.
    /// This should be when the underlying condition changed.  If that is not known, then using the time when the API field changed is acceptable.
    pub last_transition_time: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time,
    /// message is a human readable message indicating details about the transition.
    /// This may be an empty string.
    #[schema(max_length = 32768)]
    pub message: String,
    /// observedGeneration represents the .metadata.generation that the condition was set based upon.
    /// For instance, if .metadata.generation is currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date
    /// with respect to the current state of the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub observed_generation: Option<i64>,
    /// reason contains a programmatic identifier indicating the reason for the condition's last transition.
    /// Producers of specific condition types may define expected values and meanings for this field,
    /// and whether the values are considered a guaranteed API.
    /// The value should be a CamelCase string.
    /// This field may not be empty.
    #[schema(max_length = 1024, min_length = 1, pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    pub reason: String,
    /// status of the condition, one of True, False, Unknown.
    pub status: Status,
    /// type of condition in CamelCase or in foo.example.com/CamelCase.
    #[schema(max_length = 316, pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$")]
    pub r#type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct SupportedFeature {
    /// FeatureName is used to describe distinct features that are covered by
    /// conformance tests.
    pub name: String,
}

/// Status defines the current state of GatewayClass.
///
/// Implementations MUST populate status on all GatewayClass resources which
/// specify their controller name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
#[schema(extend("default" = {"conditions": [{"lastTransitionTime": "1970-01-01T00:00:00Z", "message": "Waiting for controller", "reason": "Pending", "status": "Unknown", "type": "Accepted"}]}))]
pub struct GatewayClassStatus {
    /// Conditions is the current status from the controller for
    /// this GatewayClass.
    ///
    /// Controllers should prefer to publish conditions using values
    /// of GatewayClassConditionType for the type of each Condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(as = "Vec<Condition>", default = [{"lastTransitionTime": "1970-01-01T00:00:00Z", "message": "Waiting for controller", "reason": "Pending", "status": "Unknown", "type": "Accepted"}], max_items = 8, list_map_keys("type"))]
    pub conditions: Option<Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition>>,
    /// SupportedFeatures is the set of features the GatewayClass support.
    /// It MUST be sorted in ascending alphabetical order by the Name key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 64, list_map_keys("name"))]
    pub supported_features: Option<Vec<SupportedFeature>>,
}

//! `ReferenceGrant` of gateway.networking.k8s.io/v1beta1, made by `kubewright import crd`.

#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]

use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

/// ReferenceGrantFrom describes trusted namespaces and kinds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct SpecFrom {
    /// Group is the group of the referent.
    /// When empty, the Kubernetes core API group is inferred.
    ///
    /// Support: Core
    #[schema(max_length = 253, pattern = "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")]
    pub group: String,
    /// Kind is the kind of the referent. Although implementations may support
    /// additional resources, the following types are part of the "Core"
    /// support level for this field.
    ///
    /// When used to permit a SecretObjectReference:
    ///
    /// * Gateway
    ///
    /// When used to permit a BackendObjectReference:
    ///
    /// * GRPCRoute
    /// * HTTPRoute
    /// * TCPRoute
    /// * TLSRoute
    /// * UDPRoute
    #[schema(max_length = 63, min_length = 1, pattern = "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$")]
    pub kind: String,
    /// Namespace is the namespace of the referent.
    ///
    /// Support: Core
    #[schema(max_length = 63, min_length = 1, pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
    pub namespace: String,
}

/// ReferenceGrantTo describes what Kinds are allowed as targets of the
/// references.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct To {
    /// Group is the group of the referent.
    /// When empty, the Kubernetes core API group is inferred.
    ///
    /// Support: Core
    #[schema(max_length = 253, pattern = "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")]
    pub group: String,
    /// Kind is the kind of the referent. Although implementations may support
    /// additional resources, the following types are part of the "Core"
    /// support level for this field:
    ///
    /// * Secret when used to permit a SecretObjectReference
    /// * Service when used to permit a BackendObjectReference
    #[schema(max_length = 63, min_length = 1, pattern = "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$")]
    pub kind: String,
    /// Name is the name of the referent. When unspecified, this policy
    /// refers to all resources of the specified Group and Kind in the local
    /// namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 253, min_length = 1)]
    pub name: Option<String>,
}

/// Spec defines the desired state of ReferenceGrant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct ReferenceGrantSpec {
    /// From describes the trusted namespaces and kinds that can reference the
    /// resources described in "To". Each entry in this list MUST be considered
    /// to be an additional place that references can be valid from, or to put
    /// this another way, entries MUST be combined using OR.
    ///
    /// Support: Core
    #[schema(max_items = 16, min_items = 1, list_type = "atomic")]
    pub from: Vec<SpecFrom>,
    /// To describes the resources that may be referenced by the resources
    /// described in "From". Each entry in this list MUST be considered to be an
    /// additional place that references can be valid to, or to put this another
    /// way, entries MUST be combined using OR.
    ///
    /// Support: Core
    #[schema(max_items = 16, min_items = 1, list_type = "atomic")]
    pub to: Vec<To>,
}

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[kube(
    group = "gateway.networking.k8s.io",
    version = "v1beta1",
    kind = "ReferenceGrant",
    plural = "referencegrants",
    singular = "referencegrant",
    namespaced,
    no_spec,
    derive = "PartialEq",
    derive = "Default",
    doc = "ReferenceGrant identifies kinds of resources in other namespaces that are\ntrusted to reference the specified kinds of resources in the same namespace\nas the policy.\n\nEach ReferenceGrant can be used to represent a unique trust relationship.\nAdditional Reference Grants can be used to add to the set of trusted\nsources of inbound references for the namespace they are defined within.\n\nAll cross-namespace references in Gateway API (with the exception of cross-namespace\nGateway-route attachment) require a ReferenceGrant.\n\nReferenceGrant is a form of runtime verification allowing users to assert\nwhich cross-namespace object references are permitted. Implementations that\nsupport ReferenceGrant MUST NOT permit cross-namespace references which have\nno grant, and MUST respond to the removal of a grant by revoking the access\nthat the grant allowed.",
    shortname = "refgrant",
    category = "gateway-api",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
)]
#[crd(
    annotation("api-approved.kubernetes.io", "https://github.com/kubernetes-sigs/gateway-api/pull/3328"),
    annotation("gateway.networking.k8s.io/bundle-version", "v1.4.0"),
    annotation("gateway.networking.k8s.io/channel", "standard"),
)]
pub struct ReferenceGrantFields {
    /// Spec defines the desired state of ReferenceGrant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<ReferenceGrantSpec>,
}

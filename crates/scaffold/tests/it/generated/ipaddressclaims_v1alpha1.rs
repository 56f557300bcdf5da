//! `IPAddressClaim` of ipam.cluster.x-k8s.io/v1alpha1, made by `kubewright import crd`.

#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]

use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

/// PoolRef is a reference to the pool from which an IP address should be created.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct PoolRef {
    /// APIGroup is the group for the resource being referenced. If APIGroup is not specified, the specified Kind must be in the core API group. For any other third-party types, APIGroup is required.
    pub api_group: String,
    /// Kind is the type of resource being referenced
    pub kind: String,
    /// Name is the name of resource being referenced
    pub name: String,
}

/// IPAddressClaimSpec is the desired state of an IPAddressClaim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct IPAddressClaimSpec {
    /// PoolRef is a reference to the pool from which an IP address should be created.
    pub pool_ref: PoolRef,
}

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[kube(
    group = "ipam.cluster.x-k8s.io",
    version = "v1alpha1",
    kind = "IPAddressClaim",
    plural = "ipaddressclaims",
    singular = "ipaddressclaim",
    namespaced,
    no_spec,
    status = "IPAddressClaimStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "IPAddressClaim is the Schema for the ipaddressclaim API.",
    category = "cluster-api",
    printcolumn(name = "Pool Name", type_ = "string", json_path = ".spec.poolRef.name", description = "Name of the pool to allocate an address from"),
    printcolumn(name = "Pool Kind", type_ = "string", json_path = ".spec.poolRef.kind", description = "Kind of the pool to allocate an address from"),
)]
pub struct IPAddressClaimFields {
    /// IPAddressClaimSpec is the desired state of an IPAddressClaim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<IPAddressClaimSpec>,
}

/// AddressRef is a reference to the address that was created for this claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct AddressRef {
    /// Name of the referent. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names TODO: Add other useful fields. apiVersion, kind, uid?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Condition defines an observation of a Cluster API resource operational state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Last time the condition transitioned from one status to another. This should be when the underlying condition changed. If that is not known, then using the time when the API field changed is acceptable.
    pub last_transition_time: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time,
    /// A human readable message indicating details about the transition. This field may be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The reason for the condition's last transition in CamelCase. The specific API may choose whether or not this field is considered a guaranteed API. This field may not be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Severity provides an explicit classification of Reason code, so the users or machines can immediately understand the current situation and act accordingly. The Severity field MUST be set only when Status=False.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Status of the condition, one of True, False, Unknown.
    pub status: String,
    /// Type of condition in CamelCase or in foo.example.com/CamelCase. Many .condition.type values are consistent across resources like Available, but because arbitrary conditions can be useful (see .node.status.conditions), the ability to deconflict is important.
    pub r#type: String,
}

/// IPAddressClaimStatus is the observed status of a IPAddressClaim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
pub struct IPAddressClaimStatus {
    /// AddressRef is a reference to the address that was created for this claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_ref: Option<AddressRef>,
    /// Conditions summarises the current state of the IPAddressClaim
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
}

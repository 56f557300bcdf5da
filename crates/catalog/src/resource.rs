//! The resources that the API serves: their names, verbs and subresources.
//!
//! A [`ResourceInfo`] is one row of discovery plus what the server must know to serve it. Rows are generated
//! from the pinned upstream release; what discovery does not say (field labels, columns, which version is
//! stored) comes from the small hand-written tables beside the generator.

use crate::types::StructType;

/// An API group and its versions, in the order of preference.
///
/// ```
/// let groups = kubewright_catalog::groups();
/// assert_eq!(groups[0].name, "", "the core group is the first");
/// let apps = groups.iter().find(|group| group.name == "apps").expect("built in");
/// assert_eq!(apps.versions[0].version, "v1");
/// ```
#[derive(Debug)]
pub struct GroupInfo {
    /// The group's name; empty for the core group.
    pub name: &'static str,
    /// The served versions, preferred first.
    pub versions: &'static [VersionInfo],
}

/// One version of a group.
///
/// ```
/// let core = &kubewright_catalog::groups()[0];
/// let v1 = &core.versions[0];
/// assert_eq!(v1.version, "v1");
/// assert!(v1.resources.iter().any(|resource| resource.plural == "pods"));
/// ```
#[derive(Debug)]
pub struct VersionInfo {
    /// `v1`
    pub version: &'static str,
    /// The resources, in discovery order (by name).
    pub resources: &'static [ResourceInfo],
}

/// A resource: a kind under its plural name.
///
/// ```
/// let deployments = kubewright_catalog::resource("apps", "v1", "deployments").expect("built in");
/// assert_eq!((deployments.kind, deployments.namespaced), ("Deployment", true));
/// assert!(deployments.subresources.iter().any(|sub| sub.name == "scale"));
/// ```
#[derive(Debug)]
pub struct ResourceInfo {
    /// `pods`
    pub plural: &'static str,
    /// `pod`
    pub singular: &'static str,
    /// `Pod`
    pub kind: &'static str,
    /// The scope: namespaced or cluster-scoped.
    pub namespaced: bool,
    /// The verbs, in the order discovery prints them.
    pub verbs: &'static [&'static str],
    /// `po`
    pub short_names: &'static [&'static str],
    /// `all`
    pub categories: &'static [&'static str],
    /// The hash that discovery publishes; empty where the resource is not stored.
    pub storage_version_hash: &'static str,
    /// The group of the kind where it is not the resource's own (`authentication.k8s.io` for `serviceaccounts/token`).
    pub kind_group: Option<&'static str>,
    /// The version of the kind where it is not the resource's own.
    pub kind_version: Option<&'static str>,
    /// The subresources (`status`, `scale`), by name.
    pub subresources: &'static [SubresourceInfo],
    /// The shape of the objects.
    pub ty: &'static StructType,
    /// Field labels that selectors may name besides `metadata.name` and `metadata.namespace`.
    pub field_labels: &'static [FieldLabel],
}

/// A subresource of a resource.
///
/// ```
/// let deployments = kubewright_catalog::resource("apps", "v1", "deployments").expect("built in");
/// let scale = deployments.subresources.iter().find(|sub| sub.name == "scale").expect("a scale");
/// assert_eq!((scale.kind_group, scale.kind), (Some("autoscaling"), "Scale"));
/// assert_eq!(scale.verbs, ["get", "patch", "update"]);
/// ```
#[derive(Debug)]
pub struct SubresourceInfo {
    /// `status`
    pub name: &'static str,
    /// The kind of its objects, such as `Scale`.
    pub kind: &'static str,
    /// The kind's group where it is not the parent's.
    pub kind_group: Option<&'static str>,
    /// The kind's version where it is not the parent's.
    pub kind_version: Option<&'static str>,
    /// The verbs, in discovery order.
    pub verbs: &'static [&'static str],
    /// The shape of its objects, where the table has it.
    pub ty: Option<&'static StructType>,
}

/// A field label and where its value is found.
///
/// ```
/// let nodes = kubewright_catalog::resource("", "v1", "nodes").expect("built in");
/// let label = &nodes.field_labels[0];
/// assert_eq!((label.label, label.default), ("spec.unschedulable", "false"));
/// ```
#[derive(Debug)]
pub struct FieldLabel {
    /// `spec.nodeName`
    pub label: &'static str,
    /// The paths to read; the first that has a value wins (`source` of events has two).
    pub paths: &'static [&'static str],
    /// The value when no path holds one (`false` for `spec.unschedulable`).
    pub default: &'static str,
}

//! Field labels, which field selectors may name, by kind.
//!
//! Discovery does not publish labels, so they are written here by hand. Each constant is named after its resource
//! (`CORE_V1_PODS` is `pods` of the core group's `v1`); the generator finds it by that name and puts it into the
//! resource's row. A resource without a constant knows `metadata.name` and `metadata.namespace` only.
//!
//! Paths are dotted and refer to the JSON of the same version. A label without a path always has its default as value.

use crate::resource::{FieldLabel, ResourceInfo};

/// A label whose path is its own name and whose default is empty; or all three.
macro_rules! label {
    ($label:literal) => {
        label!($label, [$label], "")
    };
    ($label:literal, $paths:tt, $default:literal) => {
        FieldLabel {
            label: $label,
            paths: &$paths,
            default: $default,
        }
    };
}

/// The label of an object's name, which every resource has.
pub static METADATA_NAME: FieldLabel = label!("metadata.name");

/// The label of an object's namespace. It is empty for cluster-scoped objects, and kinds with special labels may
/// not support it.
pub static METADATA_NAMESPACE: FieldLabel = label!("metadata.namespace");

/// The label of that name, or the server's message where the resource has none.
///
/// ```
/// use kubewright_catalog::{field_labels, resource};
///
/// let pods = resource("", "v1", "pods").unwrap();
/// assert_eq!(field_labels::find("", "v1", pods, "spec.host").unwrap().paths, ["spec.nodeName"]);
/// assert_eq!(
///     field_labels::find("", "v1", pods, "spec.nope").unwrap_err(),
///     "field label not supported: spec.nope",
/// );
/// ```
///
/// # Errors
///
/// Returns an error if the kind does not support the label.
pub fn find(
    group: &str,
    version: &str,
    resource: &'static ResourceInfo,
    label: &str,
) -> Result<&'static FieldLabel, String> {
    if label == METADATA_NAME.label {
        return Ok(&METADATA_NAME);
    }
    let special = !resource.field_labels.is_empty();
    if label == METADATA_NAMESPACE.label && (resource.namespaced || !special) {
        return Ok(&METADATA_NAMESPACE);
    }
    if let Some(found) = resource
        .field_labels
        .iter()
        .find(|known| known.label == label)
    {
        return Ok(found);
    }
    Err(match (group, resource.kind) {
        ("batch", "Job") => format!("field label {label:?} not supported for Job"),
        ("resource.k8s.io", kind) if special => {
            format!("field label not supported for {group}/{version}, Kind={kind}: {label}")
        }
        _ if special => format!("field label not supported: {label}"),
        _ => format!(
            "{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ),
    })
}

pub(crate) const CORE_V1_PODS: &[FieldLabel] = &[
    label!("spec.nodeName"),
    label!("spec.host", ["spec.nodeName"], ""),
    label!("spec.restartPolicy"),
    label!("spec.schedulerName"),
    label!("spec.serviceAccountName"),
    label!("spec.hostNetwork", ["spec.hostNetwork"], "false"),
    label!("status.phase"),
    label!("status.podIP"),
    // Known to the parser, but no object has a value for it.
    label!("status.podIPs", [], ""),
    label!("status.nominatedNodeName"),
];

pub(crate) const CORE_V1_NODES: &[FieldLabel] = &[label!(
    "spec.unschedulable",
    ["spec.unschedulable"],
    "false"
)];

pub(crate) const CORE_V1_NAMESPACES: &[FieldLabel] = &[label!("status.phase")];

pub(crate) const CORE_V1_SECRETS: &[FieldLabel] = &[label!("type")];

pub(crate) const CORE_V1_SERVICES: &[FieldLabel] = &[label!("spec.clusterIP"), label!("spec.type")];

pub(crate) const CORE_V1_REPLICATIONCONTROLLERS: &[FieldLabel] =
    &[label!("status.replicas", ["status.replicas"], "0")];

pub(crate) const CORE_V1_EVENTS: &[FieldLabel] = &[
    label!("involvedObject.kind"),
    label!("involvedObject.namespace"),
    label!("involvedObject.name"),
    label!("involvedObject.uid"),
    label!("involvedObject.apiVersion"),
    label!("involvedObject.resourceVersion"),
    label!("involvedObject.fieldPath"),
    label!("reason"),
    label!("reportingComponent"),
    label!("source", ["source.component", "reportingComponent"], ""),
    label!("type"),
];

pub(crate) const EVENTS_V1_EVENTS: &[FieldLabel] = &[
    label!("regarding.kind"),
    label!("regarding.namespace"),
    label!("regarding.name"),
    label!("regarding.uid"),
    label!("regarding.apiVersion"),
    label!("regarding.resourceVersion"),
    label!("regarding.fieldPath"),
    label!("reason"),
    label!("reportingController"),
    label!("type"),
];

pub(crate) const BATCH_V1_JOBS: &[FieldLabel] =
    &[label!("status.successful", ["status.succeeded"], "0")];

pub(crate) const CERTIFICATES_V1_CERTIFICATESIGNINGREQUESTS: &[FieldLabel] =
    &[label!("spec.signerName")];

pub(crate) const RESOURCE_V1_RESOURCESLICES: &[FieldLabel] =
    &[label!("spec.nodeName"), label!("spec.driver")];

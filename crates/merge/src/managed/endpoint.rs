//! The endpoint of a write: the version and subresource, and the other versions of the kind.

use crate::fieldset::Filter;
use crate::schema::Schema;
use crate::typed::{self, Duplicates};
use serde_json::Value;

/// The endpoint through which an object is written.
#[derive(Clone, Copy)]
pub struct Endpoint<'a, S> {
    /// The schema of the object in this version.
    pub schema: S,
    /// The version, such as `apps/v1`.
    pub api_version: &'a str,
    /// The kind, such as `Deployment`.
    pub kind: &'a str,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: &'a str,
    /// The other versions, and the fields that may be owned through this endpoint.
    pub versions: &'a dyn Versions<S>,
}

impl<S: Schema> Endpoint<'_, S> {
    /// Converts an object to another version and checks that it fits the schema of that version: defaults that one
    /// version fills in need not be declared in another.
    pub(super) fn convert(
        &self,
        object: &Value,
        api_version: &str,
    ) -> Result<Converted<S>, ConvertError> {
        let converted = self.versions.convert(object, api_version)?;
        if !converted.schema.is_enforced() {
            typed::validate(converted.schema, &converted.object, Duplicates::Allowed)
                .map_err(|e| ConvertError::Failed(e.to_string()))?;
        }
        Ok(converted)
    }
}

/// An object in another version.
#[derive(Debug, Clone)]
pub struct Converted<S> {
    /// The object.
    pub object: Value,
    /// The schema of the object in that version.
    pub schema: S,
}

/// An object that cannot be converted to another version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// The kind does not have this version. Owners of fields in that version are dropped.
    #[error("no corresponding type")]
    NoSuchVersion,
    /// The conversion failed.
    #[error("{0}")]
    Failed(String),
}

/// The versions of a kind.
///
/// ```
/// use kubewright_merge::fieldset::Filter;
/// use kubewright_merge::managed::{ConvertError, Converted, Versions};
/// use kubewright_merge::schema::Deduced;
/// use serde_json::{Value, json};
///
/// /// Versions that differ by name alone.
/// struct SameFields;
///
/// impl Versions<Deduced> for SameFields {
///     fn convert(&self, object: &Value, api_version: &str) -> Result<Converted<Deduced>, ConvertError> {
///         let mut object = object.clone();
///         object["apiVersion"] = json!(api_version);
///         Ok(Converted { object, schema: Deduced })
///     }
///
///     fn filter(&self, _: &str) -> Option<&Filter> {
///         None
///     }
/// }
///
/// let old = json!({"apiVersion": "example.com/v1beta1", "spec": {}});
/// let new = SameFields.convert(&old, "example.com/v1")?.object;
/// assert_eq!(new, json!({"apiVersion": "example.com/v1", "spec": {}}));
/// # Ok::<(), ConvertError>(())
/// ```
pub trait Versions<S> {
    /// Converts an object to another version. Never called for the version that the object already has.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Converted<S>, ConvertError>;

    /// Returns the filter of the fields that a writer may own through this endpoint; `None` for all fields.
    fn filter(&self, api_version: &str) -> Option<&Filter>;
}

/// A kind that has one version.
///
/// ```
/// use kubewright_merge::fieldset::{FieldSet, Filter, Path};
/// use kubewright_merge::managed::{OneVersion, Versions};
/// use kubewright_merge::schema::Deduced;
///
/// let status: FieldSet = [Path::of_fields(["status"])].into_iter().collect();
/// let one = OneVersion { filter: Some(Filter::Exclude(status)) };
/// let versions: &dyn Versions<Deduced> = &one;
/// let filter = versions.filter("example.com/v1").expect("there is one");
///
/// let written: FieldSet = [Path::of_fields(["spec", "size"]), Path::of_fields(["status", "phase"])]
///     .into_iter()
///     .collect();
/// assert_eq!(filter.apply(&written).paths(), [Path::of_fields(["spec", "size"])]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct OneVersion {
    /// The filter of the fields that may be owned through the endpoint.
    pub filter: Option<Filter>,
}

impl<S: Schema> Versions<S> for OneVersion {
    fn convert(&self, _: &Value, _: &str) -> Result<Converted<S>, ConvertError> {
        Err(ConvertError::NoSuchVersion)
    }

    fn filter(&self, _: &str) -> Option<&Filter> {
        self.filter.as_ref()
    }
}

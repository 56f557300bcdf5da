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
pub trait Versions<S> {
    /// Converts an object to another version. Never called for the version that the object already has.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Converted<S>, ConvertError>;

    /// Returns the filter of the fields that a writer may own through this endpoint; `None` for all fields.
    fn filter(&self, api_version: &str) -> Option<&Filter>;
}

/// A kind that has one version.
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

//! The errors of versions and of conversions between them.

use serde_json::Value;

use crate::crd::CrdError;

/// Versions that cannot be merged into one CustomResourceDefinition.
#[derive(Debug, thiserror::Error)]
pub enum VersionsError {
    /// Two versions have the same name.
    #[error("there are two versions named {0}")]
    Duplicate(String),
    /// The storage version does not exist.
    #[error("the storage version {0} does not exist")]
    NoStorageVersion(String),
    /// No version is served.
    #[error("no version is served: at least one must be")]
    NoneServed,
    /// A property of the whole kind differs between versions.
    #[error("{field} of version {version} is {theirs}, but {ours} in the hub: make them equal")]
    Differs {
        /// The version.
        version: String,
        /// The field of the CRD that differs.
        field: String,
        /// The value of the hub.
        ours: Value,
        /// The value of the version.
        theirs: Value,
    },
    /// The CustomResourceDefinition of a version is not valid.
    #[error(transparent)]
    Crd(#[from] CrdError),
    /// The merged CustomResourceDefinition cannot be read.
    #[error("the merged CustomResourceDefinition is not valid: {0}")]
    Malformed(#[source] serde_json::Error),
}

/// An object that cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// The object is of another kind, or should be converted to another kind.
    #[error("{given} cannot be converted to {to}: another kind")]
    Foreign {
        /// The apiVersion and kind of the object.
        given: String,
        /// The apiVersion it should be converted to.
        to: String,
    },
    /// The version does not exist.
    #[error("version {0} is not known")]
    UnknownVersion(String),
    /// The conversion of the types failed.
    #[error("converting from {from} to {to}: {why}")]
    Failed {
        /// The version of the object.
        from: String,
        /// The version to convert to.
        to: String,
        /// The reason.
        why: String,
    },
}

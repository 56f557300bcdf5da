//! What is wrong with versions, and with conversions between them.

use serde_json::Value;

/// Versions that do not make one definition.
#[derive(Debug, thiserror::Error)]
pub enum VersionsError {
    /// Two have the same name.
    #[error("there are two versions {0}")]
    Twice(String),
    /// The version that is to be stored is not there.
    #[error("there is no version {0} to be stored")]
    NotStored(String),
    /// No version is served.
    #[error("no version is served: at least one must be")]
    NoneServed,
    /// Something differs that belongs to the whole kind.
    #[error("version {version} has another {what} than the hub: {theirs} instead of {ours}")]
    Differs {
        /// The version.
        version: String,
        /// What differs.
        what: String,
        /// What the hub has.
        ours: Value,
        /// What the version has.
        theirs: Value,
    },
    /// What was made is no definition.
    #[error("the definition cannot be read: {0}")]
    Malformed(String),
}

/// An object that was not converted.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// The object is of another kind, or is to become one.
    #[error("{given} cannot be converted to {to}: another kind")]
    Foreign {
        /// What the object is.
        given: String,
        /// What it should become.
        to: String,
    },
    /// There is no such version.
    #[error("version {0} is not known")]
    UnknownVersion(String),
    /// The types do not convert.
    #[error("converting from {from} to {to}: {why}")]
    Failed {
        /// The version of the object.
        from: String,
        /// The version it should have.
        to: String,
        /// Why not.
        why: String,
    },
}

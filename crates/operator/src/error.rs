//! [`OperatorError`].

use std::fmt;

use kubewright_client::Error;
use kubewright_controller::{ManagerError, wait::WaitError};
use kubewright_resource::CrdError;
use kubewright_webhook::{CertificateError, WebhookError};

/// An operator that cannot be described, installed or run.
///
/// `Debug` prints the same sentence as `Display`, since tests show errors through `unwrap`.
#[derive(thiserror::Error)]
pub enum OperatorError {
    /// The CustomResourceDefinition of a type is not valid.
    #[error(transparent)]
    Crd(#[from] CrdError),
    /// The JSON of a CustomResourceDefinition does not have the shape of one.
    #[error("the CustomResourceDefinition {name} is not valid: {source}")]
    Malformed {
        /// The name of the CRD, such as `captains.crew.example.com`.
        name: String,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// Not exactly one version of a kind is the storage version.
    #[error(
        "{stored} of {versions} versions of {name} are stored: write `storage = false` in #[kube(...)] of all but one"
    )]
    Storage {
        /// The name of the CRD, such as `captains.crew.example.com`.
        name: String,
        /// The number of versions.
        versions: usize,
        /// The number of storage versions.
        stored: usize,
    },
    /// The versions of a kind do not agree on its names or its scope.
    #[error("the versions of {name} differ in {what}: make them equal")]
    Versions {
        /// The name of the CRD.
        name: String,
        /// The property in which they differ.
        what: &'static str,
    },
    /// A conversion was registered between types that are not versions of the same kind.
    #[error("{0} and {1} do not convert into each other: they must be versions of the same kind")]
    Conversion(String, String),
    /// The webhooks cannot be served.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// The certificate of the webhooks cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// An aggregated API cannot be served.
    #[cfg(feature = "apiserver")]
    #[error(transparent)]
    Aggregated(#[from] kubewright_extension_apiserver::BuildError),
    /// An APIService of an aggregated API did not become available.
    #[cfg(feature = "apiserver")]
    #[error("{name} is not available: {reason}")]
    Unavailable {
        /// The name of the APIService, such as `v1.sky.example.com`.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The manager rejected the operator.
    #[error(transparent)]
    Manager(#[from] ManagerError),
    /// The cluster rejected a CustomResourceDefinition.
    #[error("cannot install {name}: {source}")]
    Install {
        /// The name of the CRD.
        name: String,
        /// The error of the request.
        source: Error,
    },
    /// The cluster rejected a role of the operator, or another object that belongs to it.
    #[error("cannot apply the roles: {0}")]
    Roles(#[source] Error),
    /// A CustomResourceDefinition did not become established.
    #[error("{name} was not established: {source}")]
    Establish {
        /// The name of the CRD.
        name: String,
        /// The error of the wait.
        source: WaitError<Error>,
    },
}

impl fmt::Debug for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

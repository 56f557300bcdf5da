//! [`Error`]: failures to start or stop a cluster.

use std::{io, net::SocketAddr, path::PathBuf};

use kubewright_controller::ManagerError;
use kubewright_machinery::Status;
use kubewright_serve::TlsError;

use crate::certificates::CertificateError;

/// A cluster could not start, or did not stop cleanly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The data directory cannot be opened.
    #[cfg(feature = "durable")]
    #[error(transparent)]
    DataDir(#[from] kubewright_store_durable::OpenError),
    /// etcd cannot be used.
    #[cfg(feature = "etcd")]
    #[error(transparent)]
    Etcd(#[from] kubewright_store_etcd::OpenError),
    /// A key of the data directory cannot be read or written.
    #[error("cannot use {}: {reason}; remove the file to have it generated again, which invalidates what it has signed", .path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The API server could not create its initial objects in the store.
    #[error("the API server did not start: {}", .0.message)]
    Server(Box<Status>),
    /// A serving certificate could not be generated.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The serving certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The built-in controllers failed.
    #[error("the built-in controllers failed: {0}")]
    Controllers(#[from] ManagerError),
}

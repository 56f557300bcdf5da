//! [`Etcd`]: a cluster whose objects are stored in etcd.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use kubewright_kube_apiserver::StorageLayout;
use kubewright_store::layout::Layout;
use kubewright_store_etcd::{EtcdFork, EtcdStore, Occupants, Options, SnapshotError, TlsFiles};

use crate::{ClusterBuilder, Encryption, Error, Storage, builder::Opened, kept_keys::KeptKeys};

/// The encoding in which objects of built-in kinds are written to etcd. Both encodings can be read.
///
/// ```
/// use kubewright_cluster::StorageMediaType;
///
/// assert_eq!("application/json".parse(), Ok(StorageMediaType::Json));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StorageMediaType {
    /// `application/json`, which needs no conversion and is readable with `etcdctl`.
    #[default]
    Json,
    /// `application/vnd.kubernetes.protobuf`: the default of kube-apiserver.
    Protobuf,
}

/// An unknown storage media type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `application/json` or `application/vnd.kubernetes.protobuf`")]
pub struct StorageMediaTypeError;

/// An etcd that stores the objects of a cluster in the layout of kube-apiserver. Clusters with the same etcd and prefix are
/// replicas of each other.
///
/// ```no_run
/// # async fn example() -> Result<(), kubewright_cluster::Error> {
/// use kubewright_cluster::{Cluster, Etcd};
///
/// let etcd = Etcd::new(["https://10.0.0.1:2379", "https://10.0.0.2:2379"])
///     .tls("ca.crt", "client.crt", "client.key")
///     .keys("/var/lib/kubewright/keys");
/// let cluster = Cluster::builder().etcd(etcd).start().await?;
/// # cluster.stop().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Etcd {
    options: Options,
    media_type: StorageMediaType,
    encryption: Option<Encryption>,
    keys: Option<PathBuf>,
}

impl Etcd {
    /// Returns an etcd with members at these URLs, which must include a port.
    pub fn new<U: Into<String>>(members: impl IntoIterator<Item = U>) -> Self {
        Self {
            options: Options {
                occupants: Some(Occupants {
                    name: StorageLayout::SERVER_LEASES.to_owned(),
                    is_foreign: |lease| !StorageLayout::is_own_lease(lease),
                }),
                ..Options::new(members)
            },
            media_type: StorageMediaType::default(),
            encryption: None,
            keys: None,
        }
    }

    /// Sets the prefix of all keys (default: `/registry`).
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.options.prefix = prefix.into();
        self
    }

    /// Sets the PEM files of etcd's certificate authority, and of the client's certificate and key.
    #[must_use]
    pub fn tls(
        self,
        ca: impl Into<PathBuf>,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.tls_files(Some(ca.into()), Some(certificate.into()), Some(key.into()))
    }

    /// Sets those PEM files that exist: etcd's certificate authority, and the client's certificate and key.
    #[must_use]
    pub fn tls_files(
        mut self,
        ca: Option<PathBuf>,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
    ) -> Self {
        self.options.tls = TlsFiles {
            ca,
            certificate,
            key,
        };
        self
    }

    /// Sets the user and the password.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.options.user = Some((name.into(), password.into()));
        self
    }

    /// Sets the encoding in which objects of built-in kinds are written (default: JSON).
    #[must_use]
    pub fn storage_media_type(mut self, media_type: StorageMediaType) -> Self {
        self.media_type = media_type;
        self
    }

    /// Sets the encryption of values. Values that none of its providers can decrypt are skipped.
    #[must_use]
    pub fn encryption(mut self, encryption: Encryption) -> Self {
        self.encryption = Some(encryption);
        self
    }

    /// Sets the interval of compaction (default: five minutes). With zero, another program must compact etcd.
    #[must_use]
    pub fn compaction_interval(mut self, interval: Duration) -> Self {
        self.options.compaction_interval = Some(interval).filter(|interval| !interval.is_zero());
        self
    }

    /// Allows a prefix that a running kube-apiserver uses. Both servers then allocate cluster IPs and node ports independently of
    /// each other, and may conflict.
    #[must_use]
    pub fn share_prefix(mut self) -> Self {
        self.options.occupants = None;
        self
    }

    /// Sets a directory for the keys that are not stored in etcd: the certificate authorities, the key of service-account tokens,
    /// and the token of the administrator. Replicas need the same directory, as does a cluster whose clients survive a restart.
    #[must_use]
    pub fn keys(mut self, directory: impl Into<PathBuf>) -> Self {
        self.keys = Some(directory.into());
        self
    }

    /// Reads all objects of this etcd into memory, at one revision, without writing to etcd. Pass the store of the fork to
    /// [`ClusterBuilder::store`].
    ///
    /// # Errors
    ///
    /// Fails if etcd cannot be reached or used.
    pub async fn fork(&self) -> Result<EtcdFork, Error> {
        Ok(EtcdFork::of_etcd(&self.options, self.layout()).await?)
    }

    /// Reads all objects of a file written by `etcdctl snapshot save` into memory. `prefix` is that of the keys, such as
    /// `/registry`. Blocks the thread.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is corrupt.
    pub fn fork_snapshot(path: impl AsRef<Path>, prefix: &str) -> Result<EtcdFork, SnapshotError> {
        EtcdFork::of_snapshot(path, prefix, layout(StorageLayout::json(), prefix, None))
    }

    /// Reads all objects of a snapshot file into memory, as [`fork_snapshot`](Self::fork_snapshot) does, and decrypts encrypted
    /// values.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is corrupt.
    pub fn fork_encrypted_snapshot(
        path: impl AsRef<Path>,
        prefix: &str,
        encryption: &Encryption,
    ) -> Result<EtcdFork, SnapshotError> {
        let layout = layout(StorageLayout::json(), prefix, Some(encryption));
        EtcdFork::of_snapshot(path, prefix, layout)
    }

    pub(crate) async fn open(self) -> Result<Opened, Error> {
        let store = EtcdStore::connect(&self.options, self.layout()).await?;
        let mut opened = Opened::new(store.into());
        if let Some(keys) = &self.keys {
            opened.kept = Some(KeptKeys::of(keys)?);
        }
        Ok(opened)
    }
}

impl Etcd {
    fn layout(&self) -> Arc<dyn Layout> {
        let form = match self.media_type {
            StorageMediaType::Json => StorageLayout::json(),
            StorageMediaType::Protobuf => StorageLayout::protobuf(),
        };
        layout(form, &self.options.prefix, self.encryption.as_ref())
    }
}

fn layout(form: StorageLayout, prefix: &str, encryption: Option<&Encryption>) -> Arc<dyn Layout> {
    let form = Arc::new(form);
    match encryption {
        Some(encryption) => encryption.layout(prefix, form),
        None => form,
    }
}

impl ClusterBuilder {
    /// Stores the objects of the cluster in etcd. See [`Etcd`]. Replaces [`store`](Self::store).
    pub fn etcd(mut self, etcd: Etcd) -> Self {
        self.etcd = Some(etcd);
        self
    }
}

impl From<EtcdStore> for Storage {
    fn from(store: EtcdStore) -> Self {
        Self::new(Arc::new(store)).shared()
    }
}

impl FromStr for StorageMediaType {
    type Err = StorageMediaTypeError;

    fn from_str(text: &str) -> Result<Self, StorageMediaTypeError> {
        match text {
            "application/json" => Ok(Self::Json),
            "application/vnd.kubernetes.protobuf" => Ok(Self::Protobuf),
            _ => Err(StorageMediaTypeError),
        }
    }
}

impl fmt::Display for StorageMediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        })
    }
}

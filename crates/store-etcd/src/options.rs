//! [`Options`]: the options of a store in etcd.

use std::{fmt, time::Duration};

use kubewright_store::{COMPACTION_INTERVAL, Limits};

use crate::TlsFiles;

/// The default interval of comparisons, which is that of kube-apiserver.
const CHECK_INTERVAL: Duration = Duration::from_secs(300);

/// The options of an [`EtcdStore`](crate::EtcdStore).
///
/// ```
/// use kubewright_store_etcd::Options;
///
/// let options = Options {
///     prefix: "/kubewright".to_owned(),
///     ..Options::new(["http://10.0.0.1:2379", "http://10.0.0.2:2379", "http://10.0.0.3:2379"])
/// };
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct Options {
    /// The URLs of the members, including ports. Members that do not respond are skipped.
    pub endpoints: Vec<String>,
    /// The prefix of all keys, without a trailing slash (default: `/registry`).
    pub prefix: String,
    /// The TLS files.
    pub tls: TlsFiles,
    /// The user and the password, if etcd requires authentication.
    pub user: Option<(String, String)>,
    /// The limits of history in memory.
    pub limits: Limits,
    /// The interval of compaction, which the servers of an etcd share; `None` if another program compacts.
    pub compaction_interval: Option<Duration>,
    /// The interval at which memory is compared with etcd (default: five minutes); `None` if it is not.
    pub check_interval: Option<Duration>,
    /// The registrations of other programs below the prefix. If there is one, the store is not opened, since both programs would
    /// write.
    pub occupants: Option<Occupants>,
}

/// The objects by which programs show that they use a prefix, while they run.
///
/// ```
/// use kubewright_store_etcd::{Occupants, Options};
///
/// let mut options = Options::new(["http://127.0.0.1:2379"]);
/// options.occupants = Some(Occupants {
///     name: "masterleases".to_owned(),
///     is_foreign: |object| !object.starts_with(b"{\"own\""),
/// });
/// ```
#[derive(Clone, Debug)]
pub struct Occupants {
    /// The name below the prefix that their keys have in common.
    pub name: String,
    /// Reports whether such an object, as decoded by the layout, belongs to another program that must not share the prefix.
    pub is_foreign: fn(&[u8]) -> bool,
}

impl Options {
    /// Returns the default options for members at these URLs.
    pub fn new<U: Into<String>>(endpoints: impl IntoIterator<Item = U>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            prefix: "/registry".to_owned(),
            tls: TlsFiles::default(),
            user: None,
            limits: Limits::default(),
            compaction_interval: Some(COMPACTION_INTERVAL),
            check_interval: Some(CHECK_INTERVAL),
            occupants: None,
        }
    }
}

/// Omits the password.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|(name, _)| name);
        f.debug_struct("Options")
            .field("endpoints", &self.endpoints)
            .field("prefix", &self.prefix)
            .field("tls", &self.tls)
            .field("user", &user)
            .finish_non_exhaustive()
    }
}

//! The flags for the store of aggregated APIs: memory, a directory or etcd, according to the features of the program.

use clap::{ArgMatches, Command};
use kubewright_extension_apiserver::ServerStore;

use super::BoxError;

/// The flag for the directory.
#[cfg(feature = "durable")]
const DATA_DIR: &str = "apiserver-data-dir";
/// The flags for etcd.
#[cfg(feature = "etcd")]
const ETCD: [(&str, &str, &str); 5] = [
    (
        "apiserver-etcd-servers",
        "URLS",
        "The etcd members that store the objects of aggregated APIs, separated by commas. By default they are stored in memory",
    ),
    (
        "apiserver-etcd-prefix",
        "PATH",
        "The prefix of all keys in etcd. Defaults to \"/registry/\" and the operator's name",
    ),
    (
        "apiserver-etcd-cafile",
        "FILE",
        "The authority of etcd's certificates",
    ),
    (
        "apiserver-etcd-certfile",
        "FILE",
        "The client certificate for etcd",
    ),
    (
        "apiserver-etcd-keyfile",
        "FILE",
        "The key of the client certificate",
    ),
];

/// The flags of the store.
#[derive(Default)]
pub(super) struct StoreFlags {
    #[cfg(feature = "durable")]
    directory: Option<std::path::PathBuf>,
    /// The values of the flags for etcd, in order.
    #[cfg(feature = "etcd")]
    etcd: [Option<String>; 5],
}

impl StoreFlags {
    /// Adds the flags to a command.
    #[cfg_attr(not(any(feature = "durable", feature = "etcd")), allow(unused_mut))]
    pub(super) fn arguments(mut command: Command) -> Command {
        #[cfg(feature = "durable")]
        {
            let directory = clap::Arg::new(DATA_DIR)
                .long(DATA_DIR)
                .value_name("DIRECTORY")
                .value_parser(clap::value_parser!(std::path::PathBuf))
                .help("The directory that stores the objects of aggregated APIs. By default they are stored in memory");
            #[cfg(feature = "etcd")]
            let directory = directory.conflicts_with(ETCD[0].0);
            command = command.arg(directory);
        }
        #[cfg(feature = "etcd")]
        for (flag, value, help) in ETCD {
            let arg = clap::Arg::new(flag).long(flag).value_name(value).help(help);
            command = command.arg(arg);
        }
        command
    }

    #[cfg_attr(
        not(any(feature = "durable", feature = "etcd")),
        allow(unused_variables)
    )]
    pub(super) fn from_matches(matches: &ArgMatches) -> Self {
        Self {
            #[cfg(feature = "durable")]
            directory: matches.get_one(DATA_DIR).cloned(),
            #[cfg(feature = "etcd")]
            etcd: ETCD.map(|(flag, ..)| matches.get_one(flag).cloned()),
        }
    }

    /// Opens the store.
    #[cfg_attr(not(feature = "etcd"), allow(unused_variables))]
    pub(super) async fn open(&self, operator: &str) -> Result<ServerStore, BoxError> {
        #[cfg(feature = "durable")]
        if let Some(directory) = &self.directory {
            return Ok(ServerStore::directory(directory).await?);
        }
        #[cfg(feature = "etcd")]
        if let [Some(servers), prefix, ca, certificate, key] = &self.etcd {
            use kubewright_store_etcd::{Options, TlsFiles};
            let path = |file: &Option<String>| file.as_ref().map(Into::into);
            let default = || format!("/registry/{operator}");
            let options = Options {
                prefix: prefix.clone().unwrap_or_else(default),
                tls: TlsFiles {
                    ca: path(ca),
                    certificate: path(certificate),
                    key: path(key),
                },
                ..Options::new(servers.split(',').map(str::trim))
            };
            return Ok(ServerStore::etcd(&options).await?);
        }
        Ok(ServerStore::memory())
    }
}

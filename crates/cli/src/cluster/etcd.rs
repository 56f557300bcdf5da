//! The flags that keep the objects of a local cluster in etcd, by the names of kube-apiserver.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use kubewright_cluster::{ClusterBuilder, Encryption, Etcd, EtcdFork, StorageMediaType};
use kubewright_scaffold::Error;

use super::{data::duration, parts::Objects};
use crate::output::warn;

/// The etcd of a cluster.
#[derive(Args)]
pub(crate) struct EtcdArgs {
    /// URLs of the etcd members that keep the objects, e.g. `https://10.0.0.1:2379,https://10.0.0.2:2379`
    #[arg(
        long,
        value_name = "URLS",
        value_delimiter = ',',
        conflicts_with = "data_dir"
    )]
    etcd_servers: Vec<String>,

    /// Prefix of all keys in etcd
    #[arg(long, value_name = "PATH", default_value = "/registry")]
    etcd_prefix: String,

    /// Authority of etcd's certificates
    #[arg(long, value_name = "FILE", requires = "etcd_servers")]
    etcd_cafile: Option<PathBuf>,

    /// Client certificate for etcd
    #[arg(long, value_name = "FILE", requires = "etcd_keyfile")]
    etcd_certfile: Option<PathBuf>,

    /// Key of the client certificate
    #[arg(long, value_name = "FILE", requires = "etcd_certfile")]
    etcd_keyfile: Option<PathBuf>,

    /// User of etcd, whose password is in --etcd-password-file
    #[arg(long, value_name = "NAME", requires = "etcd_password_file")]
    etcd_username: Option<String>,

    /// File with the password of the user of etcd
    #[arg(long, value_name = "FILE", requires = "etcd_username")]
    etcd_password_file: Option<PathBuf>,

    /// Interval at which etcd's history is compacted, e.g. `5m`; `0s` leaves it to others
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "etcd_servers")]
    etcd_compaction_interval: Option<Duration>,

    /// Form in which built-in kinds are written: `application/json` or `application/vnd.kubernetes.protobuf`
    #[arg(long, value_name = "TYPE", default_value_t, requires = "etcd_servers")]
    storage_media_type: StorageMediaType,

    /// File with the providers that encrypt values in etcd: an EncryptionConfiguration of apiserver.config.k8s.io/v1
    #[arg(long, value_name = "FILE")]
    encryption_provider_config: Option<PathBuf>,

    /// Accept a prefix that a running kube-apiserver uses
    #[arg(long, requires = "etcd_servers")]
    etcd_share_prefix: bool,

    /// Read the objects of --etcd-servers once and serve them from memory; etcd is never written to
    #[arg(long, requires = "etcd_servers")]
    from_etcd: bool,

    /// File of `etcdctl snapshot save` whose objects are served from memory
    #[arg(long, value_name = "FILE", conflicts_with_all = ["etcd_servers", "data_dir"])]
    from_snapshot: Option<PathBuf>,

    /// Directory that keeps the keys and tokens that are not in etcd; replicas need the same
    #[arg(long, value_name = "DIR", requires = "etcd_servers")]
    keys_dir: Option<PathBuf>,
}

impl EtcdArgs {
    /// Returns whose objects the cluster has.
    pub(crate) fn objects(&self) -> Objects {
        match self.etcd_servers.is_empty() && self.from_snapshot.is_none() {
            true => Objects::Own,
            false => Objects::Foreign,
        }
    }

    /// Adds what the flags ask for: an etcd, or the objects of one in memory.
    pub(crate) async fn add_to(&self, builder: ClusterBuilder) -> anyhow::Result<ClusterBuilder> {
        let encryption = self.encryption()?;
        let etcd = self.etcd()?.map(|etcd| match &encryption {
            Some(encryption) => etcd.encryption(encryption.clone()),
            None => etcd,
        });
        let fork = match (&self.from_snapshot, etcd) {
            (Some(path), _) => {
                let (path, prefix) = (path.clone(), self.etcd_prefix.clone());
                let read = move || match &encryption {
                    Some(encryption) => Etcd::fork_encrypted_snapshot(&path, &prefix, encryption),
                    None => Etcd::fork_snapshot(&path, &prefix),
                };
                tokio::task::spawn_blocking(read).await??
            }
            (None, Some(etcd)) if self.from_etcd => etcd.fork().await?,
            (None, Some(etcd)) => return Ok(builder.etcd(etcd)),
            (None, None) if encryption.is_some() => {
                return Err(Error::new(
                    "--encryption-provider-config needs an etcd or a snapshot",
                    "give --etcd-servers or --from-snapshot too; the data directory is not encrypted",
                )
                .into());
            }
            (None, None) => return Ok(builder),
        };
        report(&fork);
        Ok(builder.store(fork.store))
    }

    fn encryption(&self) -> anyhow::Result<Option<Encryption>> {
        let Some(path) = &self.encryption_provider_config else {
            return Ok(None);
        };
        let text = std::fs::read(path);
        let text = text.map_err(|e| Error::io("read the encryption configuration", path, &e))?;
        let encryption = Encryption::parse(text).map_err(|e| {
            let what = format_args!("{}: {e}", path.display()).to_string();
            Error::new(
                what,
                "use the file that kube-apiserver has as --encryption-provider-config",
            )
        })?;
        Ok(Some(encryption))
    }

    fn etcd(&self) -> anyhow::Result<Option<Etcd>> {
        if self.etcd_servers.is_empty() {
            return Ok(None);
        }
        let mut etcd = Etcd::new(&self.etcd_servers)
            .prefix(&self.etcd_prefix)
            .tls_files(
                self.etcd_cafile.clone(),
                self.etcd_certfile.clone(),
                self.etcd_keyfile.clone(),
            )
            .storage_media_type(self.storage_media_type);
        if let (Some(name), Some(path)) = (&self.etcd_username, &self.etcd_password_file) {
            let password = std::fs::read_to_string(path);
            let password = password.map_err(|e| Error::io("read the password file", path, &e))?;
            etcd = etcd.user(name, password.trim_end_matches(['\r', '\n']));
        }
        if let Some(interval) = self.etcd_compaction_interval {
            etcd = etcd.compaction_interval(interval);
        }
        if self.etcd_share_prefix {
            etcd = etcd.share_prefix();
        }
        if let Some(directory) = &self.keys_dir {
            etcd = etcd.keys(directory);
        }
        Ok(Some(etcd))
    }
}

/// The number of unreadable values that are named.
const NAMED: usize = 5;

/// Describes what could not be read, if anything.
fn report(fork: &EtcdFork) {
    let unreadable = &fork.unreadable;
    if unreadable.is_empty() {
        return;
    }
    warn(format_args!(
        "warning: {} of {} objects at revision {} are left out:",
        unreadable.len(),
        unreadable.len() + fork.objects,
        fork.revision.0
    ));
    for reason in unreadable.iter().take(NAMED) {
        warn(format_args!("  {reason}"));
    }
}

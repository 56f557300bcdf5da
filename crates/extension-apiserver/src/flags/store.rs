//! [`StoreFlags`]: the flags for the store of a server's kinds.

use std::path::PathBuf;

use crate::server_store::{OpenStoreError, ServerStore};

/// The flags for the [store](ServerStore) of a server's kinds: memory, a directory or etcd. The last two need the features
/// `durable` and `etcd`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreFlags {
    /// The directory. Only one program can use it.
    pub data_dir: Option<PathBuf>,
    /// The URLs of the etcd members, which replicas share.
    pub etcd_servers: Vec<String>,
    /// The prefix of all keys in etcd (default: `/registry/` and the name of the server).
    pub etcd_prefix: Option<String>,
    /// The authority of etcd's certificates.
    pub etcd_cafile: Option<PathBuf>,
    /// The client certificate for etcd.
    pub etcd_certfile: Option<PathBuf>,
    /// Its key.
    pub etcd_keyfile: Option<PathBuf>,
}

impl StoreFlags {
    /// Sets a flag. Returns false if it is not about the store.
    pub(super) fn set(&mut self, flag: &str, value: &str) -> bool {
        match flag {
            "--data-dir" => self.data_dir = Some(value.into()),
            "--etcd-servers" => {
                let servers = value.split(',').map(str::trim).filter(|s| !s.is_empty());
                self.etcd_servers.extend(servers.map(str::to_owned));
            }
            "--etcd-prefix" => self.etcd_prefix = Some(value.to_owned()),
            "--etcd-cafile" => self.etcd_cafile = Some(value.into()),
            "--etcd-certfile" => self.etcd_certfile = Some(value.into()),
            "--etcd-keyfile" => self.etcd_keyfile = Some(value.into()),
            _ => return false,
        }
        true
    }

    /// Opens the store of a server with this name.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use kubewright_extension_apiserver::ServerFlags;
    ///
    /// // Without a flag, objects are in memory.
    /// let flags = ServerFlags::parse(["--secure-port=8443"])?;
    /// let store = flags.store.open("sky").await?;
    /// # let _ = store;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be used, or if the program was built without the feature.
    #[cfg_attr(not(feature = "etcd"), allow(unused_variables))]
    pub async fn open(&self, server: &str) -> Result<ServerStore, OpenStoreError> {
        if let Some(directory) = &self.data_dir {
            #[cfg(feature = "durable")]
            return ServerStore::directory(directory).await;
            #[cfg(not(feature = "durable"))]
            return Err(OpenStoreError::NotBuilt {
                feature: "durable",
                wanted: directory.display().to_string(),
            });
        }
        if self.etcd_servers.is_empty() {
            return Ok(ServerStore::memory());
        }
        #[cfg(feature = "etcd")]
        {
            use kubewright_store_etcd::{Options, TlsFiles};
            let options = Options {
                prefix: self
                    .etcd_prefix
                    .clone()
                    .unwrap_or_else(|| format!("/registry/{server}")),
                tls: TlsFiles {
                    ca: self.etcd_cafile.clone(),
                    certificate: self.etcd_certfile.clone(),
                    key: self.etcd_keyfile.clone(),
                },
                ..Options::new(self.etcd_servers.iter().cloned())
            };
            ServerStore::etcd(&options).await
        }
        #[cfg(not(feature = "etcd"))]
        Err(OpenStoreError::NotBuilt {
            feature: "etcd",
            wanted: self.etcd_servers.join(","),
        })
    }
}

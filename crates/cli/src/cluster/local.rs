//! [`LocalCluster`]: a cluster in this process whose kubeconfig is removed when it stops.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use anyhow::Context;
use kube::Client;
use kubewright_cluster::{
    Cluster, ClusterBuilder, ClusterUser, Error as ClusterError, Nodes, write_secret_file,
};
use kubewright_scaffold::Error;

/// A cluster in this process with built-in controllers. Dropping it stops it and removes its kubeconfig.
pub(crate) struct LocalCluster {
    cluster: Cluster,
    kubeconfig: Option<PathBuf>,
}

impl LocalCluster {
    /// Starts a cluster without a socket.
    pub(crate) async fn start(builder: ClusterBuilder) -> anyhow::Result<Self> {
        let cluster = builder.start().await?;
        Ok(Self {
            cluster,
            kubeconfig: None,
        })
    }

    /// Starts a cluster on a port of this machine, and writes its kubeconfig.
    pub(crate) async fn listen(
        builder: ClusterBuilder,
        port: u16,
        kubeconfig: &Path,
    ) -> anyhow::Result<Self> {
        let started = builder
            .listen(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .start()
            .await;
        let cluster = started.map_err(|e| match e {
            ClusterError::Listen { .. } => {
                let hint = "choose another port with --port; 0 lets the system choose";
                anyhow::Error::from(Error::new(e, hint))
            }
            e => e.into(),
        })?;
        let endpoint = cluster.endpoint().context("the cluster does not listen")?;
        let written = endpoint.write_kubeconfig(kubeconfig);
        written.map_err(|e| Error::io("write", kubeconfig, &e))?;
        Ok(Self {
            cluster,
            kubeconfig: Some(kubeconfig.to_owned()),
        })
    }

    /// Returns a client that calls the server without a socket, as the administrator.
    pub(crate) fn client(&self) -> Client {
        self.cluster.client()
    }

    /// Returns such a client that the faults of a lab do not affect.
    pub(crate) fn direct_client(&self) -> Client {
        self.cluster.direct_client()
    }

    /// Writes a kubeconfig with which one acts as this user. A service account is created unless it exists.
    pub(crate) async fn write_kubeconfig_of(
        &self,
        user: &ClusterUser,
        path: &Path,
    ) -> anyhow::Result<()> {
        let endpoint = self.cluster.endpoint();
        let endpoint = endpoint.context("the cluster does not listen")?;
        let credential = self.cluster.credential(user).await?;
        let text = endpoint.kubeconfig_of(credential).to_yaml();
        write_secret_file(path, text).map_err(|e| Error::io("write", path, &e))?;
        Ok(())
    }

    /// Returns the simulated nodes.
    pub(crate) fn nodes(&self) -> anyhow::Result<Nodes> {
        let nodes = self.cluster.nodes().cloned();
        nodes.context("the cluster has no nodes")
    }

    /// Returns the URL of the cluster, or nothing if it has no socket.
    pub(crate) fn url(&self) -> &str {
        self.cluster
            .endpoint()
            .map_or("", |endpoint| endpoint.url())
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        if let Some(kubeconfig) = &self.kubeconfig {
            // Its server is gone.
            let _ = fs::remove_file(kubeconfig);
        }
    }
}

//! [`Plane`]: a control plane with the built-in controllers, called within the process, and on a socket for those who join in.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use anyhow::Context;
use kube::Client;
use kubewright_apiserver::{
    auth::TokenFile,
    serve::{ServeOptions, certs::SelfSigned, kubeconfig::Kubeconfig, serve},
};
use kubewright_builtin_controllers::Controllers;
use kubewright_kube_apiserver::{FIRST_REVISION, KubeApiServer};
use kubewright_store::{COMPACTION_INTERVAL, MemoryStore};
use tokio::{net::TcpListener, task::JoinSet};

use kubewright_scaffold::Refusal;

use super::{in_process, up::write_private};

/// A control plane with the built-in controllers. Dropped, all of it ends, and its kubeconfig is gone.
pub(crate) struct Plane {
    plane: KubeApiServer,
    client: Client,
    /// Ends with this: the store's upkeep, the controllers, the server.
    tasks: JoinSet<()>,
    kubeconfig: Option<PathBuf>,
    token: String,
}

impl Plane {
    pub(crate) async fn start(controllers: Controllers) -> anyhow::Result<Self> {
        let token = format!("{:032x}", rand::random::<u128>());
        let tokens = TokenFile::parse(&format!("{token},admin,admin,\"system:masters\"\n"))?;
        let store = MemoryStore::starting_at(FIRST_REVISION);
        let plane = KubeApiServer::builder()
            .store(Arc::new(store.clone()))
            .authenticator(Arc::new(tokens))
            .build()
            .await
            .context("the control plane did not start")?;
        let client = in_process::client(plane.server().clone(), &token)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let (upkeep, compaction) = (
                store.run_upkeep(),
                store.run_compaction(COMPACTION_INTERVAL),
            );
            tokio::join!(upkeep, compaction);
        });
        let controllers = controllers.manager(client.clone())?;
        tasks.spawn(async move {
            // It ends with the plane.
            let _ = controllers.run(std::future::pending()).await;
        });
        Ok(Self {
            plane,
            client,
            tasks,
            kubeconfig: None,
            token,
        })
    }

    /// Calls the server without a socket, as the administrator.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Serves it on this machine, and writes a kubeconfig of that name. The URL.
    pub(crate) async fn listen(
        &mut self,
        name: &str,
        port: u16,
        kubeconfig: &Path,
    ) -> anyhow::Result<String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address).await.map_err(|e| {
            Refusal::new(
                format_args!("cannot listen on {address}: {e}"),
                "choose another port with --port, or 0 to let the system choose",
            )
        })?;
        let url = format!("https://{}", listener.local_addr()?);
        let certificates = SelfSigned::generate(["127.0.0.1", "localhost"], SystemTime::now())?;
        let tls = certificates.server_config()?;
        let mut config = Kubeconfig::new(name, &url);
        config.ca_pem = Some(certificates.ca_pem.clone());
        config.token = Some(self.token.clone());
        write_private(kubeconfig, &config.to_yaml())?;
        self.kubeconfig = Some(kubeconfig.to_owned());
        let server = self.plane.server().clone();
        self.tasks.spawn(async move {
            let never = std::future::pending();
            // It ends with the plane.
            let _ = serve(listener, Some(tls), server, ServeOptions::default(), never).await;
        });
        Ok(url)
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        if let Some(kubeconfig) = &self.kubeconfig {
            // It leads nowhere any more.
            let _ = fs::remove_file(kubeconfig);
        }
    }
}

//! The server of the aggregated APIs: flags, certificate, and registration with the manager.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use clap::{Arg, ArgMatches, Command, value_parser};
use kube::Client;
use kubewright_controller::{Group, Manager, flags::bind_address};
use kubewright_extension_apiserver::{Delegation, ExtensionServer, ServerStore};
use kubewright_webhook::{Certificates, ManagedCertificates, Presented};
use tokio::net::TcpListener;

use super::{
    BoxError, apiserver_options::Options, apiserver_store::StoreFlags, listen, namespace_of_pod,
};
use crate::{Operator, names::Names};

/// The flag for the address.
const BIND_ADDRESS: &str = "apiserver-bind-address";
/// The flag for the directory of the certificate.
const CERT_PATH: &str = "apiserver-cert-path";
/// The flag for the Service that certificates are issued for.
const SERVICE: &str = "apiserver-service";
/// The name of the server in the manager, and of its readiness check.
const NAME: &str = "apiserver";

/// The flags of the server.
pub(super) struct ApiServerFlags {
    address: String,
    directory: Option<PathBuf>,
    service: Option<String>,
    store: StoreFlags,
    options: Options,
}

/// Adds the flags to a command.
pub(super) fn arguments(command: Command) -> Command {
    Options::arguments(StoreFlags::arguments(command))
        .arg(
            Arg::new(BIND_ADDRESS)
                .long(BIND_ADDRESS)
                .value_name("ADDRESS")
                .default_value(":6443")
                .help("The address the aggregated APIs bind to. \"0\" disables them"),
        )
        .arg(
            Arg::new(CERT_PATH)
                .long(CERT_PATH)
                .value_name("DIRECTORY")
                .value_parser(value_parser!(PathBuf))
                .help("The directory with tls.crt and tls.key of the aggregated APIs. Without it, the operator issues certificates in a pod and stores them in a Secret"),
        )
        .arg(
            Arg::new(SERVICE)
                .long(SERVICE)
                .value_name("NAME")
                .help("The Service of the aggregated APIs, which certificates are issued for. Defaults to the operator's name and \"-apiserver\""),
        )
}

/// The server of the aggregated APIs, before it is added to a manager.
pub(super) struct ApiServer {
    server: ExtensionServer,
    store: ServerStore,
    delegation: Delegation,
    source: Source,
    listener: TcpListener,
}

/// The source of the certificate.
enum Source {
    Directory(PathBuf),
    Managed(Box<ManagedCertificates>),
}

impl ApiServerFlags {
    pub(super) fn from_matches(matches: &ArgMatches) -> Self {
        let address = matches.get_one::<String>(BIND_ADDRESS);
        Self {
            address: address.cloned().unwrap_or_default(),
            directory: matches.get_one(CERT_PATH).cloned(),
            service: matches.get_one(SERVICE).cloned(),
            store: StoreFlags::from_matches(matches),
            options: Options::from_matches(matches),
        }
    }

    /// Returns the server of an operator, if it has aggregated APIs, an address and a certificate.
    pub(super) async fn server(
        &self,
        operator: &Operator,
        client: &Client,
    ) -> Result<Option<ApiServer>, BoxError> {
        if operator.aggregated.is_empty() {
            return Ok(None);
        }
        let source = self.certificates(operator, client)?;
        let (Some(address), Some(source)) = (bind_address(&self.address), source) else {
            tracing::info!("aggregated APIs disabled: no certificate or address given");
            return Ok(None);
        };
        let delegation = Delegation::new(client.clone()).await?;
        let delegation = self.options.allow_paths(delegation);
        let store = self.store.open(operator.name()).await?;
        let audit = self.options.audit()?;
        let server = operator.build_apiserver(&delegation, store.store(), audit)?;
        Ok(Some(ApiServer {
            server,
            store,
            delegation,
            source,
            listener: listen(&address).await?,
        }))
    }

    /// Returns the source of the certificate: a directory, or in a pod a Secret.
    fn certificates(
        &self,
        operator: &Operator,
        client: &Client,
    ) -> Result<Option<Source>, BoxError> {
        if let Some(directory) = &self.directory {
            return Ok(Some(Source::Directory(directory.clone())));
        }
        let Some(namespace) = namespace_of_pod() else {
            return Ok(None);
        };
        let default = || Names::of(operator.name()).apiserver;
        let service = self.service.clone().unwrap_or_else(default);
        let managed = operator.apiserver_certificates(client.clone(), &namespace, &service)?;
        Ok(Some(Source::Managed(Box::new(managed))))
    }
}

impl ApiServer {
    /// Adds the server to the manager, which starts it before filling its caches, since controllers may watch the kinds, and
    /// on all replicas. The manager is ready only while the server has a valid certificate.
    pub(super) fn add_to(self, manager: &Manager) -> Result<(), BoxError> {
        let clock = manager.clock();
        let certificates = match self.source {
            Source::Directory(directory) => Certificates::directory(directory),
            Source::Managed(managed) => Certificates::managed(managed.clock(clock.clone())),
        };
        let presented: Arc<OnceLock<Arc<Presented>>> = Arc::default();
        let checked = presented.clone();
        manager.readyz().add(NAME, move || match checked.get() {
            Some(presented) => presented.check(clock().as_second()).map_err(BoxError::from),
            None => Err("the server of aggregated APIs has no certificate yet".into()),
        });
        let Self {
            server,
            store,
            delegation,
            listener,
            ..
        } = self;
        manager.add(Group::Webhooks, NAME, |stop| async move {
            let first = Arc::new(certificates.obtain().await?);
            // This is the only place that sets it.
            let _ = presented.set(first.clone());
            let shutdown = async move { stop.stopping().await };
            let served =
                server.serve_presented(listener, &certificates, &first, &delegation, shutdown);
            tokio::select! {
                served = served => Ok(served?),
                () = store.maintain() => Ok(()),
            }
        })?;
        Ok(())
    }
}

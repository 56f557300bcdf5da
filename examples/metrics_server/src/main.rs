//! A server of `metrics.k8s.io`: `kubectl top` and the autoscaler ask it through the API server of the cluster.
//!
//! The samples are in memory. This program measures nothing: it takes the requests of containers for their usage, which it reads
//! every 15 seconds. Replace [`sample`] with a measurement.
//!
//! ```text
//! kubewright up &
//! cargo run -p metrics_server -- --kubeconfig kubeconfig --secure-port 4443 &
//! export KUBECONFIG=kubeconfig
//! kubectl top nodes
//! kubectl top pods --containers
//! kubectl top pods -l app=web
//! ```
//!
//! With `--kubeconfig`, the program runs outside the cluster, and the Service in front of it is an alias of this machine, which
//! the API server must reach. In a pod, it needs a Service of its own.

mod kinds;
mod samples;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, error::Error, time::Duration};

use k8s_openapi::api::core::v1::{Container, Node, Pod};
use kube::{
    Api, Client, Config, ResourceExt,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright::{
    extension_apiserver::{ExtensionServer, ExtensionServerBuilder, Registration, ServerFlags},
    machinery::quantity::Quantity,
    webhook::ManagedCertificates,
};

use kinds::{NodeMetrics, PodMetrics};
use samples::{NodeUsage, PodUsage, Samples, Usage};

/// The time between two samples.
const WINDOW: Duration = Duration::from_secs(15);
/// The Service in front of the server.
const NAMESPACE: &str = "kube-system";
const SERVICE: &str = "metrics-server";

/// Returns the server of these samples.
fn server(samples: &Samples) -> ExtensionServerBuilder {
    ExtensionServer::builder()
        .serve::<NodeMetrics>(samples.clone())
        .serve::<PodMetrics>(samples.clone())
}

/// Returns the registration of the server, at the place of the real metrics-server in discovery.
fn registration() -> Registration {
    Registration::new(NAMESPACE, SERVICE).group_priority(100)
}

/// Takes a sample: the requests of the containers of running pods. A node uses what its pods use.
async fn sample(client: &Client, samples: &Samples) -> Result<(), kube::Error> {
    let mut nodes: BTreeMap<String, NodeUsage> = BTreeMap::new();
    for node in Api::<Node>::all(client.clone())
        .list(&ListParams::default())
        .await?
    {
        let usage = NodeUsage {
            labels: node.labels().clone(),
            ..NodeUsage::default()
        };
        nodes.insert(node.name_any(), usage);
    }
    let running = ListParams::default().fields("status.phase=Running");
    let mut pods = BTreeMap::new();
    for pod in Api::<Pod>::all(client.clone()).list(&running).await? {
        let Some(spec) = pod.spec.as_ref() else {
            continue;
        };
        let containers = spec.containers.iter();
        let containers: Vec<(String, Usage)> = containers
            .map(|container| (container.name.clone(), requests(container)))
            .collect();
        if let Some(node) = spec.node_name.as_ref().and_then(|name| nodes.get_mut(name)) {
            containers
                .iter()
                .for_each(|(_, usage)| node.usage.add(*usage));
        }
        let key = (pod.namespace().unwrap_or_default(), pod.name_any());
        let labels = pod.labels().clone();
        pods.insert(key, PodUsage { labels, containers });
    }
    samples.replace(nodes, pods);
    Ok(())
}

/// Returns the requests of a container.
fn requests(container: &Container) -> Usage {
    let resources = container.resources.as_ref();
    let requests = resources.and_then(|resources| resources.requests.as_ref());
    let amount = |name: &str| {
        let text = requests.and_then(|requests| requests.get(name));
        let quantity = text.and_then(|text| text.0.parse::<Quantity>().ok());
        quantity.unwrap_or_default()
    };
    Usage {
        cpu_millis: amount("cpu").milli_value(),
        memory_bytes: amount("memory").value(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flags = ServerFlags::parse(std::env::args().skip(1))?;
    let config = match &flags.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path)?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => Config::incluster()?,
    };
    let client = Client::try_from(config)?;
    let samples = Samples::default();
    let delegation = flags.delegation(client.clone()).await?;
    let server = flags.configure(server(&samples))?;
    let server = server.delegate(&delegation).build()?;
    let listener = tokio::net::TcpListener::bind(flags.address()).await?;
    println!("serving at https://{}", listener.local_addr()?);
    let mut registration = registration();
    if flags.kubeconfig.is_some() {
        // Outside the cluster, the Service leads to this machine.
        registration = registration.external(listener.local_addr()?);
    }
    registration.apply(&client, server.api()).await?;
    let managed = ManagedCertificates::new(client.clone(), NAMESPACE, SERVICE);
    let certificates = flags.certificates(managed.api_service("v1beta1.metrics.k8s.io"))?;
    let sampling = async {
        loop {
            if let Err(error) = sample(&client, &samples).await {
                eprintln!("no sample was taken: {error}");
            }
            tokio::time::sleep(WINDOW).await;
        }
    };
    let stop = async {
        // Without a signal handler the server cannot be stopped gracefully; it keeps serving.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        served = server.serve_tls(listener, &certificates, &delegation, stop) => served?,
        () = sampling => {}
    }
    Ok(())
}

//! A control loop from its parts.
//!
//! An informer adds keys to a work queue; workers take them, read the cache and write what is missing. This one copies every
//! ConfigMap that has the annotation `copy-to: NAME`.
//!
//! Without arguments it runs on a server in this process and exits when it is done; with `--context` it runs on a cluster of
//! your kubeconfig until you stop it.
//!
//! ```text
//! cargo run -p informer_workqueue
//! cargo run -p informer_workqueue -- --context kind-kind
//! cargo run -p informer_workqueue -- --kubeconfig staging.yaml
//! ```

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Parser;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kubewright_informer::{
    Buffer, Event, Key, Lister, SharedInformer, SharedInformerFactory, SubscribeOptions,
};
use kubewright_testing::TestCluster;
use kubewright_workqueue::WorkQueue;

/// Copies ConfigMaps.
#[derive(Parser)]
struct Arguments {
    /// A context of your kubeconfig. Defaults to a server in this process.
    #[arg(long)]
    context: Option<String>,
    /// A kubeconfig file.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
}

const WORKERS: usize = 2;
const COPY_TO: &str = "copy-to";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Some(config) = cluster(&Arguments::parse()).await? else {
        let cluster = TestCluster::start().await;
        let copied = make_maps(cluster.client()).await?;
        return run(cluster.client(), copied_all(copied)).await;
    };
    run(Client::try_from(config)?, async |_| {
        let _ = tokio::signal::ctrl_c().await;
    })
    .await
}

/// Returns a client for the cluster that the arguments name, if any.
async fn cluster(arguments: &Arguments) -> anyhow::Result<Option<kube::Config>> {
    let options = KubeConfigOptions {
        context: arguments.context.clone(),
        ..KubeConfigOptions::default()
    };
    Ok(match (&arguments.kubeconfig, &arguments.context) {
        (None, None) => None,
        (None, Some(_)) => Some(kube::Config::from_kubeconfig(&options).await?),
        (Some(file), _) => {
            let kubeconfig = Kubeconfig::read_from(file)?;
            Some(kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?)
        }
    })
}

/// Runs the loop until `done` completes.
async fn run(
    client: Client,
    done: impl AsyncFnOnce(SharedInformer<ConfigMap>),
) -> anyhow::Result<()> {
    let queue = WorkQueue::<Key>::new();
    let factory = SharedInformerFactory::new(client.clone());
    let maps = factory.informer::<ConfigMap>();
    // A reconciler needs only keys, so at most one pending event per object is kept.
    let enqueue = queue.clone();
    let _handler = maps.add_handler_with(
        SubscribeOptions::default().buffer(Buffer::Coalesce),
        move |event: Event<ConfigMap>| enqueue.add(event.key().clone()),
    );
    factory.start();
    let report = factory.wait_for_sync(Duration::from_secs(30)).await;
    ensure!(report.is_synced(), "{report}");

    let workers: Vec<_> = (0..WORKERS)
        .map(|_| tokio::spawn(work(queue.clone(), maps.lister(), client.clone())))
        .collect();
    done(maps).await;
    queue.shut_down_with_drain().await;
    for worker in workers {
        worker.await?;
    }
    factory.shutdown().await;
    Ok(())
}

/// Runs one worker: takes a key, reconciles it, and requeues it with backoff on failure.
async fn work(queue: WorkQueue<Key>, lister: Lister<ConfigMap>, client: Client) {
    while let Some(item) = queue.get().await {
        match reconcile(item.key(), &lister, &client).await {
            Ok(()) => queue.forget(item.key()),
            Err(error) => {
                eprintln!("{}: {error:#}", item.key());
                queue.add_rate_limited(item.key().clone());
            }
        }
    }
}

/// Creates or updates the copy of a ConfigMap.
async fn reconcile(key: &Key, lister: &Lister<ConfigMap>, client: &Client) -> anyhow::Result<()> {
    let Some(map) = lister.get_key(key)? else {
        return Ok(());
    };
    let Some(target) = map.data.as_ref().and_then(|data| data.get(COPY_TO)) else {
        return Ok(());
    };
    let namespace = key.namespace().context("a map without a namespace")?;
    let copy = lister.namespace(namespace).get(target)?;
    let mut data = map.data.clone().unwrap_or_default();
    data.remove(COPY_TO);
    if copy.is_some_and(|copy| copy.data.as_ref() == Some(&data)) {
        return Ok(());
    }
    let apply = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": target}, "data": data,
    });
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let parameters = PatchParams::apply("copier").force();
    maps.patch(target, &parameters, &Patch::Apply(apply))
        .await?;
    println!("{key} copied to {target}");
    Ok(())
}

/// Creates some ConfigMaps to copy. Returns their number.
async fn make_maps(client: Client) -> anyhow::Result<usize> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    for i in 0..5 {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(format!("map-{i}"));
        let data = [(COPY_TO, format!("copy-{i}")), ("number", i.to_string())];
        map.data = Some(data.map(|(key, value)| (key.to_owned(), value)).into());
        maps.create(&PostParams::default(), &map).await?;
    }
    Ok(5)
}

/// Waits until this many copies are in the cache.
fn copied_all(copies: usize) -> impl AsyncFnOnce(SharedInformer<ConfigMap>) {
    async move |maps: SharedInformer<ConfigMap>| {
        let mut events = maps.subscribe(SubscribeOptions::default());
        let mut seen = 0;
        while seen < copies {
            match events.next().await {
                Some(Event::Added { object, .. }) if object.name().starts_with("copy-") => {
                    seen += 1
                }
                Some(_) => {}
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn maps_that_ask_for_it_are_copied() {
        let cluster = TestCluster::start().await;
        let copied = make_maps(cluster.client()).await.unwrap();
        run(cluster.client(), copied_all(copied)).await.unwrap();
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
        for i in 0..copied {
            let copy = maps.get(&format!("copy-{i}")).await.unwrap();
            let data = copy.data.unwrap();
            assert_eq!(data["number"], i.to_string());
            assert!(!data.contains_key(COPY_TO));
        }
    }
}

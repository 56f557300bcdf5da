//! How do I see what happens in a cluster?
//!
//! An informer on config maps prints what it is told: what is there, and then every change. Without arguments it runs on a
//! server in this process and makes some changes itself; with `--context` on a cluster of your kubeconfig, until you stop
//! it.
//!
//! ```text
//! cargo run -p informer_print
//! cargo run -p informer_print -- --context kind-kind
//! ```

use std::time::Duration;

use anyhow::ensure;
use clap::Parser;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::config::KubeConfigOptions;
use kubewright_informer::{Event, SharedInformerFactory};
use kubewright_testing::TestCluster;

/// Prints what happens to config maps.
#[derive(Parser)]
struct Arguments {
    /// A context of your kubeconfig. A server in this process unless given.
    #[arg(long)]
    context: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.context {
        Some(context) => {
            let options = KubeConfigOptions {
                context: Some(context),
                ..KubeConfigOptions::default()
            };
            let config = kube::Config::from_kubeconfig(&options).await?;
            let factory = print(kube::Client::try_from(config)?).await?;
            tokio::signal::ctrl_c().await?;
            factory.shutdown().await;
        }
        None => {
            let cluster = TestCluster::start().await;
            let factory = print(cluster.client()).await?;
            let last = make_changes(cluster.client()).await?;
            // The cache has caught up when it shows the last change.
            let maps = factory.informer::<ConfigMap>();
            maps.wait_for(&last).await?;
            println!("{} in the cache", maps.lister().len());
            factory.shutdown().await;
        }
    }
    Ok(())
}

/// Prints everything there is, and every change from now on.
async fn print(client: kube::Client) -> anyhow::Result<SharedInformerFactory> {
    let factory = SharedInformerFactory::new(client);
    let maps = factory.informer::<ConfigMap>();
    let handler = maps.add_handler(|event: Event<ConfigMap>| match event {
        Event::Added { object, initial } => {
            let when = if initial { "is there" } else { "added" };
            println!("+ {} {when}", object.key());
        }
        Event::Updated { old, new, cause } => {
            println!(
                "~ {} {} -> {} ({cause:?})",
                new.key(),
                old.resource_version(),
                new.resource_version()
            );
        }
        Event::Deleted { last, exact } => {
            let how = if exact { "" } else { ", as a list found out" };
            println!("- {} deleted{how}", last.key());
        }
    });
    factory.start();
    let report = factory.wait_for_sync(Duration::from_secs(30)).await;
    ensure!(report.is_synced(), "{report}");
    handler.synced().await;
    println!("-- synced --");
    Ok(factory)
}

/// Something to see. The revision of the last change.
async fn make_changes(client: kube::Client) -> anyhow::Result<String> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    for name in ["colours", "shapes"] {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.to_owned());
        maps.create(&PostParams::default(), &map).await?;
    }
    let patch = Patch::Merge(serde_json::json!({"data": {"sky": "blue"}}));
    maps.patch("colours", &PatchParams::default(), &patch)
        .await?;
    maps.delete("shapes", &DeleteParams::default()).await?;
    let patch = Patch::Merge(serde_json::json!({"data": {"sky": "grey"}}));
    let last = maps
        .patch("colours", &PatchParams::default(), &patch)
        .await?;
    Ok(last.metadata.resource_version.unwrap_or_default())
}

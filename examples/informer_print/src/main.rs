//! Prints changes in a cluster, with an informer.
//!
//! An informer on ConfigMaps prints existing objects, and then every change. Without arguments it runs on a server in this
//! process and makes some changes itself; with `--context` it runs on a cluster of your kubeconfig until you stop
//! it.
//!
//! ```text
//! cargo run -p informer_print
//! cargo run -p informer_print -- --context kind-kind
//! cargo run -p informer_print -- --kubeconfig staging.yaml
//! ```

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::Parser;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kubewright_informer::{Event, Registration, SharedInformerFactory};
use kubewright_testing::TestCluster;

/// Prints changes of ConfigMaps.
#[derive(Parser)]
struct Arguments {
    /// A context of your kubeconfig. Defaults to a server in this process.
    #[arg(long)]
    context: Option<String>,
    /// A kubeconfig file.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Some(config) = cluster(&Arguments::parse()).await? else {
        return on_a_server_of_its_own(|line| println!("{line}")).await;
    };
    let client = kube::Client::try_from(config)?;
    let (factory, _handler) = print(client, |line| println!("{line}")).await?;
    tokio::signal::ctrl_c().await?;
    factory.shutdown().await;
    Ok(())
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

/// Starts a server, prints existing objects, makes some changes and prints those.
async fn on_a_server_of_its_own(
    line: impl FnMut(String) + Clone + Send + 'static,
) -> anyhow::Result<()> {
    let cluster = TestCluster::start().await;
    let (factory, handler) = print(cluster.client(), line.clone()).await?;
    let last = make_changes(cluster.client()).await?;
    // The cache has caught up when it shows the last change; the handler has when it received all of them.
    let maps = factory.informer::<ConfigMap>();
    maps.wait_for(&last).await?;
    factory.shutdown().await;
    handler.finished().await;
    let mut line = line;
    line(format!("{} in the cache", maps.lister().len()));
    Ok(())
}

/// Prints existing objects and every change from now on.
async fn print(
    client: kube::Client,
    line: impl FnMut(String) + Clone + Send + 'static,
) -> anyhow::Result<(SharedInformerFactory, Registration)> {
    let mut said = line.clone();
    let factory = SharedInformerFactory::new(client);
    let maps = factory.informer::<ConfigMap>();
    let handler = maps.add_handler(move |event: Event<ConfigMap>| match event {
        Event::Added { object, initial } => {
            let when = if initial { "is there" } else { "added" };
            said(format!("+ {} {when}", object.key()));
        }
        Event::Updated { old, object, cause } => {
            said(format!(
                "~ {} {} -> {} ({cause:?})",
                object.key(),
                old.resource_version(),
                object.resource_version()
            ));
        }
        Event::Deleted { object, exact } => {
            let how = if exact { "" } else { ", as a list found out" };
            said(format!("- {} deleted{how}", object.key()));
        }
    });
    factory.start();
    let report = factory.wait_for_sync(Duration::from_secs(30)).await;
    ensure!(report.is_synced(), "{report}");
    handler.synced().await;
    let mut line = line;
    line("-- synced --".to_owned());
    Ok((factory, handler))
}

/// Makes some changes. Returns the revision of the last one.
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn additions_updates_and_deletions_are_printed() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let noted = lines.clone();
        on_a_server_of_its_own(move |line| noted.lock().unwrap().push(line))
            .await
            .unwrap();
        let lines = lines.lock().unwrap();
        let synced = lines.iter().position(|l| l == "-- synced --").unwrap();
        let said: Vec<_> = lines[synced..]
            .iter()
            .filter_map(|line| line.split_once("default/")?.1.split(' ').next())
            .zip(lines[synced..].iter().filter(|l| l.contains("default/")))
            .map(|(name, line)| format!("{} {name}", &line[..1]))
            .collect();
        let expected = [
            "+ colours",
            "+ shapes",
            "~ colours",
            "- shapes",
            "~ colours",
        ];
        assert_eq!(said, expected, "{lines:#?}");
        assert!(lines.last().unwrap().ends_with("in the cache"));
    }
}

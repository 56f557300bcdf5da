//! Shows what each client is for.
//!
//! Accesses the same objects through each of the clients: REST by path, typed, dynamic, metadata-only; then discovery, the
//! mapper and scale. Runs on an embedded server, or on your cluster:
//!
//! ```text
//! cargo run -p client_tour
//! cargo run -p client_tour -- --context kind-kind
//! cargo run -p client_tour -- --kubeconfig staging.yaml
//! ```
//!
//! ```text
//! server     Kubernetes 1.36
//! discovery  21 groups, 67 kinds, nothing failed
//! mapper     deploy is apps/v1, Resource=deployments
//! typed      created ConfigMap colours, sky is blue
//! rest       PUT answered 200 OK, sky is grey
//! dynamic    applied Deployment web, 2 replicas, owned by client-tour
//! scale      web has 5 replicas
//! metadata   web is at generation 2, uid known, no spec was sent
//! watch      ConfigMap colours was deleted
//! warning    unknown field "odd"
//! ```

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use clap::Parser;
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Client, Config, ResourceExt,
    api::{
        DeleteParams, DynamicObject, ListParams, PatchParams, PostParams, ValidationDirective,
        WatchEvent, WatchParams,
    },
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_client::{
    ClientOptions, ClientSet, DiscoveryClient, DynamicClient, MetadataClient, RestClient,
    ScaleClient,
    policy::{OnceEach, Warning, user_agent},
};
use kubewright_machinery::gvk::GroupVersion;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

/// Shows what each client is for.
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
async fn main() -> Result<()> {
    let say = |line: String| println!("{line}");
    match cluster(&Arguments::parse()).await? {
        Some(config) => tour(options().connect(config)?, &say).await,
        None => {
            let cluster = TestCluster::start().await;
            tour(options().wrap(cluster.client()), &say).await
        }
    }
}

/// Returns a client for the cluster that the arguments name, if any.
async fn cluster(arguments: &Arguments) -> Result<Option<Config>> {
    let options = KubeConfigOptions {
        context: arguments.context.clone(),
        ..KubeConfigOptions::default()
    };
    Ok(match (&arguments.kubeconfig, &arguments.context) {
        (None, None) => None,
        (None, Some(_)) => Some(Config::from_kubeconfig(&options).await?),
        (Some(file), _) => {
            let kubeconfig = Kubeconfig::read_from(file)?;
            Some(Config::from_custom_kubeconfig(kubeconfig, &options).await?)
        }
    })
}

/// Returns the options that all clients below share.
fn options() -> ClientOptions {
    ClientOptions::new()
        .user_agent(user_agent("client-tour", env!("CARGO_PKG_VERSION")))
        .rate_limit(50.0, 100)
        .timeout(Duration::from_secs(30))
        .field_manager("client-tour")
        .field_validation(ValidationDirective::Warn)
        .warnings(OnceEach::new(|warning: &Warning| {
            println!("warning    {}", warning.text)
        }))
}

async fn tour(client: Client, say: &(dyn Fn(String) + Sync)) -> Result<()> {
    let namespaces = ClientSet::new(client.clone()).cluster::<Namespace>();
    let mut namespace = Namespace::default();
    namespace.metadata.generate_name = Some("client-tour-".to_owned());
    let namespace = namespaces
        .create(&PostParams::default(), &namespace)
        .await?
        .name_any();
    let result = through_the_clients(client, &namespace, say).await;
    namespaces
        .delete(&namespace, &DeleteParams::default())
        .await?;
    result
}

async fn through_the_clients(
    client: Client,
    namespace: &str,
    say: &(dyn Fn(String) + Sync),
) -> Result<()> {
    // Discovery: the served APIs.
    let discovery = DiscoveryClient::new(client.clone());
    let version = discovery.server_version().await?;
    say(format!(
        "server     Kubernetes {}.{}",
        version.major, version.minor
    ));
    let found = discovery.discover().await?;
    let kinds: usize = found
        .preferred()
        .iter()
        .map(|list| list.resources.len())
        .sum();
    let failed: Vec<String> = found.failures.keys().map(ToString::to_string).collect();
    let failed = if failed.is_empty() {
        "nothing".to_owned()
    } else {
        failed.join(", ")
    };
    say(format!(
        "discovery  {} groups, {kinds} kinds, {failed} failed",
        found.groups.len()
    ));

    // Mapper: from any name of a kind to its resource.
    let dynamic = DynamicClient::new(client.clone());
    let deployments = dynamic.mapper().find("deploy").await?;
    say(format!("mapper     deploy is {}", deployments.resource));

    // Typed client: objects as Rust types.
    let maps = ClientSet::new(client.clone()).namespaced::<ConfigMap>(namespace);
    let mut map = ConfigMap::default();
    map.metadata.name = Some("colours".to_owned());
    map.data = Some([("sky".to_owned(), "blue".to_owned())].into());
    let map = maps.create(&PostParams::default(), &map).await?;
    say(format!(
        "typed      created ConfigMap {}, sky is {}",
        map.name_any(),
        map.data.unwrap_or_default()["sky"]
    ));

    // REST client: any path, any verb.
    let rest = RestClient::new(client.clone()).group_version(&GroupVersion::new("", "v1"));
    let grey = json!({"metadata": {"name": "colours"}, "data": {"sky": "grey"}});
    let answer = rest
        .put()
        .namespace(namespace)
        .resource("configmaps")
        .name("colours")
        .json(&grey);
    let answer = answer.send().await?;
    let object: Value = answer.object()?;
    say(format!(
        "rest       PUT answered {}, sky is {}",
        answer.code(),
        object["data"]["sky"].as_str().unwrap_or("?")
    ));

    // Dynamic client: server-side apply of a kind known only at run time.
    let web: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "registry.k8s.io/pause:3.10"}]},
            },
        },
    }))?;
    let deployment = dynamic.for_object(&web).await?;
    let applied = deployment
        .apply(&PatchParams::apply("client-tour"), &web)
        .await?;
    say(format!(
        "dynamic    applied {} {}, {} replicas, owned by {}",
        applied.types.clone().unwrap_or_default().kind,
        applied.name_any(),
        applied.data["spec"]["replicas"],
        applied
            .managed_fields()
            .first()
            .and_then(|fields| fields.manager.as_deref())
            .unwrap_or("nobody"),
    ));

    // Scale client: the replicas of anything that can be scaled.
    let scales = ScaleClient::new(client.clone());
    let group_resource = deployments.resource.group_resource();
    let mut scale = scales.get(namespace, &group_resource, "web").await?;
    scale.spec.get_or_insert_default().replicas = Some(5);
    let scale = scales.update(namespace, &group_resource, &scale).await?;
    say(format!(
        "scale      web has {} replicas",
        scale.spec.and_then(|spec| spec.replicas).unwrap_or(0)
    ));

    // Metadata client: only the metadata.
    let metadata = MetadataClient::new(client.clone());
    let web = metadata
        .resource(&deployments.resource)
        .namespace(namespace)
        .get("web")
        .await?;
    let generation = web.metadata.generation.unwrap_or(0);
    let uid = if web.metadata.uid.is_some() {
        "uid known"
    } else {
        "no uid"
    };
    say(format!(
        "metadata   web is at generation {generation}, {uid}, no spec was sent"
    ));

    // Watch: changes from here on.
    let list = maps.list(&ListParams::default()).await?;
    let revision = list
        .metadata
        .resource_version
        .context("a list without a revision")?;
    let mut watch = maps
        .watch(
            &WatchParams::default().fields("metadata.name=colours"),
            &revision,
        )
        .await?;
    maps.delete("colours", &DeleteParams::default()).await?;
    if let Some(WatchEvent::Deleted(map)) = watch.next().await.transpose()? {
        say(format!(
            "watch      ConfigMap {} was deleted",
            map.name_any()
        ));
    }

    // Warnings of the server go to the handler that `options` has set.
    let odd = json!({"metadata": {"name": "odd"}, "odd": true});
    rest.post()
        .namespace(namespace)
        .resource("configmaps")
        .json(&odd)
        .send()
        .await?;
    maps.delete("odd", &DeleteParams::default()).await?;
    deployment
        .delete("web", &DeleteParams::background())
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn every_client_has_its_turn() {
        let cluster = TestCluster::start().await;
        let lines = Mutex::new(Vec::new());
        let say = |line: String| lines.lock().unwrap().push(line);
        tour(options().wrap(cluster.client()), &say).await.unwrap();
        let lines = lines.into_inner().unwrap();
        let turns: Vec<_> = lines.iter().filter_map(|l| l.split(' ').next()).collect();
        assert_eq!(
            turns,
            [
                "server",
                "discovery",
                "mapper",
                "typed",
                "rest",
                "dynamic",
                "scale",
                "metadata",
                "watch"
            ]
        );
        assert!(lines.contains(&"scale      web has 5 replicas".to_owned()));
    }
}

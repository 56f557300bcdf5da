//! `kube::Api` and discovery, in process and over TLS.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    discovery::{Discovery, Scope},
};
use kubewright_testing::TestCluster;
use serde_json::json;

use super::{code, create, map, maps, over_tls};

/// Exercises all methods of `Api` on one kind.
async fn go_through(client: Client) {
    let maps = maps(&client);
    let created = create(&maps, "a").await;
    assert!(created.uid().is_some() && created.resource_version().is_some());
    assert_eq!(maps.get("a").await.unwrap(), created);
    assert_eq!(maps.get_opt("nope").await.unwrap(), None);
    assert_eq!(
        code(maps.create(&PostParams::default(), &map("a", "2")).await),
        409
    );

    let mut changed = created.clone();
    changed.data = Some([("value".to_owned(), "2".to_owned())].into());
    let replaced = maps
        .replace("a", &PostParams::default(), &changed)
        .await
        .unwrap();
    assert_ne!(replaced.resource_version(), created.resource_version());
    assert_eq!(
        code(maps.replace("a", &PostParams::default(), &changed).await),
        409
    );

    let merge = Patch::Merge(json!({"metadata": {"labels": {"colour": "red"}}}));
    let patched = maps
        .patch("a", &PatchParams::default(), &merge)
        .await
        .unwrap();
    assert_eq!(patched.labels()["colour"], "red");
    let strategic = Patch::Strategic(json!({"data": {"more": "3"}}));
    maps.patch("a", &PatchParams::default(), &strategic)
        .await
        .unwrap();
    let mut applied = map("b", "1");
    applied.metadata.labels = Some([("colour".to_owned(), "red".to_owned())].into());
    let applied = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": applied.metadata, "data": applied.data,
    });
    maps.patch("b", &PatchParams::apply("me"), &Patch::Apply(applied))
        .await
        .unwrap();
    create(&maps, "c").await;

    let names = async |params: ListParams| {
        let list = maps.list(&params).await.unwrap();
        list.items
            .iter()
            .map(ResourceExt::name_any)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(ListParams::default()).await, ["a", "b", "c"]);
    assert_eq!(
        names(ListParams::default().labels("colour=red")).await,
        ["a", "b"]
    );
    assert_eq!(
        names(ListParams::default().fields("metadata.name=c")).await,
        ["c"]
    );
    let first = maps.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(
        (first.items.len(), first.metadata.remaining_item_count),
        (2, Some(1))
    );
    let token = first.metadata.continue_.unwrap();
    assert_eq!(
        names(ListParams::default().limit(2).continue_token(&token)).await,
        ["c"]
    );

    let metadata = maps.get_metadata("a").await.unwrap();
    assert_eq!(metadata.labels()["colour"], "red");
    assert_eq!(
        maps.list_metadata(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        3
    );

    assert!(
        maps.delete("c", &DeleteParams::default().dry_run())
            .await
            .unwrap()
            .is_right()
    );
    maps.get("c").await.unwrap();
    assert!(
        maps.delete("c", &DeleteParams::default())
            .await
            .unwrap()
            .is_right()
    );
    assert_eq!(code(maps.get("c").await), 404);
    let red = ListParams::default().labels("colour=red");
    maps.delete_collection(&DeleteParams::default(), &red)
        .await
        .unwrap();
    assert_eq!(names(ListParams::default()).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_api_works_in_process() {
    let cluster = TestCluster::start().await;
    go_through(cluster.client()).await;
}

#[tokio::test]
async fn an_api_works_over_tls() {
    let cluster = TestCluster::start().await;
    let endpoint = cluster.listen().await.unwrap();
    go_through(over_tls(&endpoint).await).await;
    endpoint.stop().await;
}

#[tokio::test]
async fn both_transports_reach_the_same_cluster() {
    let cluster = TestCluster::start().await;
    let endpoint = cluster.listen().await.unwrap();
    let outside = maps(&over_tls(&endpoint).await);
    let created = create(&maps(&cluster.client()), "a").await;
    assert_eq!(outside.get("a").await.unwrap(), created);
    outside.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(maps(&cluster.client()).get_opt("a").await.unwrap(), None);
}

#[tokio::test]
async fn discovery_finds_the_kinds() {
    let cluster = TestCluster::start().await;
    let endpoint = cluster.listen().await.unwrap();
    for client in [cluster.client(), over_tls(&endpoint).await] {
        let discovery = Discovery::new(client.clone()).run().await.unwrap();
        let kind = kube::core::GroupVersionKind::gvk("apps", "v1", "Deployment");
        let (resource, capabilities) = discovery.resolve_gvk(&kind).unwrap();
        assert_eq!(
            (resource.plural.as_str(), &capabilities.scope),
            ("deployments", &Scope::Namespaced)
        );
        assert!(discovery.groups().count() > 15);

        let kind = kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap");
        let (resource, _) = kube::discovery::pinned_kind(&client, &kind).await.unwrap();
        let dynamic: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
        let mut object = DynamicObject::new("dynamic", &resource);
        object.data = json!({"data": {"k": "v"}});
        let created = dynamic
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
        assert_eq!(created.data["data"]["k"], "v");
        dynamic
            .delete("dynamic", &DeleteParams::default())
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn the_server_has_a_version() {
    let cluster = TestCluster::start().await;
    let info = cluster.client().apiserver_version().await.unwrap();
    assert_eq!((info.major.as_str(), info.minor.as_str()), ("1", "36"));
}

#[tokio::test]
async fn cluster_scoped_and_namespaced_apis_agree() {
    let cluster = TestCluster::start().await;
    let client = cluster.client();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some("other".into());
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    let there: Api<ConfigMap> = Api::namespaced(client.clone(), "other");
    create(&there, "a").await;
    create(&maps(&client), "a").await;
    let all: Api<ConfigMap> = Api::all(client);
    let list = all.list(&ListParams::default()).await.unwrap();
    let found: Vec<_> = list
        .items
        .iter()
        .map(|m| (m.namespace().unwrap(), m.name_any()))
        .collect();
    assert_eq!(
        found,
        [("default".into(), "a".into()), ("other".into(), "a".into())]
    );
}

//! Objects that pods need to start.

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret};
use kube::{Api, api::Patch};
use serde_json::{Value, from_value, json};

use crate::fixture::{Fixture, container, is_ready, waiting};

async fn create<K>(fixture: &Fixture, object: Value)
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::Serialize
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let api: Api<K> = Api::default_namespaced(fixture.cluster.client());
    let object: K = from_value(object).unwrap();
    api.create(&Default::default(), &object).await.unwrap();
}

fn with_volume(volume: Value) -> Value {
    let mut volume = volume;
    volume["name"] = json!("v");
    json!({"volumes": [volume], "containers": [{"name": "c", "image": "nginx"}]})
}

async fn failed_mounts(fixture: &Fixture, pod: &str) -> Vec<String> {
    let events = fixture.events(pod).await.into_iter();
    let failed = events.filter(|(reason, _)| reason == "FailedMount");
    failed.map(|(_, message)| message).collect()
}

#[tokio::test(start_paused = true)]
async fn a_claim_must_be_bound() {
    let fixture = Fixture::start().await;
    let mut spec = with_volume(json!({"persistentVolumeClaim": {"claimName": "data"}}));
    // A scheduler would hold the pod back.
    spec["nodeName"] = json!("node-1");
    let status = fixture.create("p", spec).await;
    assert_eq!(waiting(&status), Some("ContainerCreating"));
    let text = |why: &str| {
        format!(
            "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: error processing PVC default/data: {why}"
        )
    };
    let missing =
        text("failed to fetch PVC from API server: persistentvolumeclaims \"data\" not found");
    assert_eq!(
        failed_mounts(&fixture, "p").await,
        std::slice::from_ref(&missing)
    );
    let claim = json!({"metadata": {"name": "data"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    }});
    create::<PersistentVolumeClaim>(&fixture, claim).await;
    fixture.pass(2).await;
    let events = failed_mounts(&fixture, "p").await;
    assert_eq!(events, [missing, text("PVC is not bound")]);
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(fixture.cluster.client());
    let named = Patch::Merge(json!({"spec": {"volumeName": "pv"}}));
    let bound = Patch::Merge(json!({"status": {"phase": "Bound"}}));
    let params = Default::default();
    claims.patch("data", &params, &named).await.unwrap();
    claims.patch_status("data", &params, &bound).await.unwrap();
    fixture.pass(2).await;
    assert!(is_ready(&fixture.status("p").await));
}

#[tokio::test(start_paused = true)]
async fn the_sources_and_keys_of_volumes_must_exist() {
    let fixture = Fixture::start().await;
    let sources = json!([
        {"configMap": {"name": "absent"}},
        {"configMap": {"name": "absent", "optional": true}},
        {"secret": {"name": "password", "items": [{"key": "no", "path": "no"}]}},
        {"configMap": {"name": "kube-root-ca.crt"}},
    ]);
    create::<Secret>(
        &fixture,
        json!({"metadata": {"name": "password"}, "stringData": {"a": "b"}}),
    )
    .await;
    create::<ConfigMap>(
        &fixture,
        json!({"metadata": {"name": "settings"}, "data": {"a": "b"}}),
    )
    .await;
    fixture
        .create(
            "several",
            with_volume(json!({"projected": {"sources": sources}})),
        )
        .await;
    let items = json!([{"key": "a", "path": "a"}, {"key": "b", "path": "b"}]);
    let one = json!({"configMap": {"name": "settings", "items": items}});
    fixture.create("one", with_volume(one)).await;
    let setup = "MountVolume.SetUp failed for volume \"v\" : ";
    let texts = "[configmap \"absent\" not found, references non-existent secret key: no]";
    assert_eq!(
        failed_mounts(&fixture, "several").await,
        [format!("{setup}{texts}")]
    );
    let text = "configmap references non-existent config key: b";
    assert_eq!(
        failed_mounts(&fixture, "one").await,
        [format!("{setup}{text}")]
    );
    let maps: Api<ConfigMap> = Api::default_namespaced(fixture.cluster.client());
    let more = Patch::Merge(json!({"data": {"b": "c"}}));
    maps.patch("settings", &Default::default(), &more)
        .await
        .unwrap();
    fixture.pass(2).await;
    assert!(is_ready(&fixture.status("one").await));
}

#[tokio::test(start_paused = true)]
async fn only_the_container_that_needs_a_missing_key_waits() {
    let fixture = Fixture::start().await;
    create::<ConfigMap>(
        &fixture,
        json!({"metadata": {"name": "settings"}, "data": {"a": "b"}}),
    )
    .await;
    let env = |optional: bool| {
        let key = json!({"name": "settings", "key": "level", "optional": optional});
        json!([{"name": "LEVEL", "valueFrom": {"configMapKeyRef": key}}])
    };
    let spec = json!({"containers": [
        {"name": "c", "image": "nginx", "env": env(false)},
        {"name": "other", "image": "nginx", "env": env(true)},
    ]});
    let status = fixture.create("p", spec).await;
    assert_eq!(waiting(&status), Some("CreateContainerConfigError"));
    let state = container(&status).state.as_ref().unwrap().waiting.as_ref();
    let text = "couldn't find key level in ConfigMap default/settings";
    assert_eq!(state.unwrap().message.as_deref(), Some(text));
    assert!(status.container_statuses.as_ref().unwrap()[1].ready);
    fixture.pass(30).await;
    let failed = ("Failed".to_owned(), format!("Error: {text}"));
    let events = fixture.events("p").await;
    let count = events.iter().filter(|event| **event == failed).count();
    assert_eq!(count, 1, "{events:?}");
    let maps: Api<ConfigMap> = Api::default_namespaced(fixture.cluster.client());
    let level = Patch::Merge(json!({"data": {"level": "debug"}}));
    maps.patch("settings", &Default::default(), &level)
        .await
        .unwrap();
    fixture.pass(2).await;
    assert!(is_ready(&fixture.status("p").await));
}

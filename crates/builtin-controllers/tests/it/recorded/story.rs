//! [`Story`]: plays the steps of a story on a cluster, and collects the events.

use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace};
use kube::{
    Api, Client, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
        PropagationPolicy, WatchEvent, WatchParams,
    },
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_builtin_controllers::Controllers;
use kubewright_client::DynamicClient;
use kubewright_controller::wait::{wait_for, wait_for_deletion};
use kubewright_testing::{RunningManager, TestCluster};
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

use super::facts::Facts;
use crate::fixture::LONG;

/// The field manager of the story's writes.
const WRITER: &str = "story";

/// The time that a real cluster has for unannounced changes.
const REAL_PAUSE: Duration = Duration::from_secs(2);

pub(super) struct Story {
    client: Client,
    /// Our controllers, unless the story is played elsewhere.
    cluster: Option<(TestCluster, RunningManager)>,
    namespace: String,
    uids: BTreeMap<String, String>,
    watching: Option<Watching>,
    facts: Option<Value>,
}

/// Collects events until the object of that name appears in `default`.
struct Watching {
    maps: JoinHandle<Vec<(String, Value)>>,
    namespaces: JoinHandle<Vec<(String, Value)>>,
}

impl Story {
    /// A namespace on a cluster with all controllers.
    pub(super) async fn begin() -> Self {
        let (client, cluster) = match std::env::var_os("KUBEWRIGHT_TEST_CONTROLLER_MANAGER") {
            Some(path) => {
                let kubeconfig = Kubeconfig::read_from(path).unwrap();
                let options = KubeConfigOptions::default();
                let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
                (Client::try_from(config.await.unwrap()).unwrap(), None)
            }
            None => {
                let cluster = TestCluster::start().await;
                let controllers = Controllers::default().root_ca("the authority");
                let running = cluster.run_controllers(&controllers);
                (cluster.client(), Some((cluster, running)))
            }
        };
        let unique = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_nanos();
        let story = Self {
            client,
            cluster,
            namespace: format!("story-{unique}"),
            uids: BTreeMap::new(),
            watching: None,
            facts: None,
        };
        story.make_namespace(&story.namespace.clone()).await;
        story
    }

    /// True on a shared cluster.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.cluster.is_none()
    }

    /// Plays one step.
    pub(super) async fn step(&mut self, step: &Value) {
        match step.as_str() {
            Some("settle") => return self.settle().await,
            Some("watch") => return self.watch().await,
            // The later order depends on which controller is faster.
            Some("enough") => return self.enough().await,
            Some("delete namespace") => {
                let namespaces: Api<Namespace> = Api::all(self.client.clone());
                let how = DeleteParams::default();
                namespaces.delete(&self.namespace, &how).await.unwrap();
                return;
            }
            Some("namespace gone") => {
                let namespaces: Api<Namespace> = Api::all(self.client.clone());
                let gone = wait_for_deletion(&namespaces, &self.namespace, None, LONG).await;
                return gone.unwrap();
            }
            Some(other) => panic!("no step {other:?}"),
            None => {}
        }
        let of = |key: &str| step[key].as_str().unwrap_or_default().to_owned();
        let kind = step["kind"].as_str().unwrap_or("ConfigMap");
        if step["create"].is_object() {
            let elsewhere = step["elsewhere"] == true;
            self.create(step["create"].clone(), elsewhere).await;
        } else if step["delete"].is_string() {
            let policy = match step["policy"].as_str() {
                Some("Background") => Some(PropagationPolicy::Background),
                Some("Foreground") => Some(PropagationPolicy::Foreground),
                Some("Orphan") => Some(PropagationPolicy::Orphan),
                _ => None,
            };
            let how = DeleteParams {
                propagation_policy: policy,
                grace_period_seconds: (step["now"] == true).then_some(0),
                ..DeleteParams::default()
            };
            let objects = self.objects(kind);
            objects.delete(&of("delete"), &how).await.unwrap();
        } else if step["release"].is_string() {
            self.release(kind, &of("release"), &of("finalizer")).await;
        } else if step["owned"].is_string() {
            let owners = self.with_uids(step["owners"].clone());
            let patch = Patch::Merge(json!({"metadata": {"ownerReferences": owners}}));
            self.patch(kind, &of("owned"), &patch).await;
        } else if step["gone"].is_string() {
            let gone = wait_for_deletion(&self.objects(kind), &of("gone"), None, LONG).await;
            gone.unwrap();
        } else if step["puzzles"].is_string() {
            self.puzzles(&of("puzzles")).await;
        } else if step["there"].is_string() {
            let found = self.objects(kind).get_opt(&of("there")).await.unwrap();
            assert!(found.is_some(), "{step}");
        } else if step["condition"].is_string() {
            self.has_condition(&of("condition")).await;
        } else if step["finalize"].is_array() {
            self.finalize(&step["finalize"]).await;
        } else if step["event"].is_string() {
            self.has_event(&of("event")).await;
        } else {
            panic!("no step {step}");
        }
    }

    /// Returns the events between `watch` and `enough`, or the end.
    pub(super) async fn end(mut self) -> Value {
        if self.facts.is_none() {
            self.settle().await;
            self.enough().await;
        }
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), "default");
        let how = DeleteParams::default();
        maps.delete(&self.namespace, &how).await.unwrap();
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        for name in [self.namespace.clone(), self.last_namespace(), self.other()] {
            // They may be gone already.
            let _ = namespaces.delete(&name, &how).await;
        }
        self.facts.unwrap()
    }

    /// Ends the watches.
    async fn enough(&mut self) {
        let watching = self.watching.take().expect("a story has a watch");
        // The last object that the watches see.
        let last =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self.namespace}});
        let last: ConfigMap = serde_json::from_value(last).unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), "default");
        maps.create(&writer(), &last).await.unwrap();
        self.make_namespace(&self.last_namespace()).await;
        let maps = watching.maps.await.unwrap();
        let namespaces = watching.namespaces.await.unwrap();
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let facts = Facts::new(&self.namespace, &self.uids);
        self.facts = Some(json!({
            "namespace": facts.namespace(&namespaces),
            "maps": facts.maps(&maps),
            "events": facts.events(&events),
        }));
    }

    fn other(&self) -> String {
        format!("{}-other", self.namespace)
    }

    fn last_namespace(&self) -> String {
        format!("{}-last", self.namespace)
    }

    fn objects(&self, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: String::new(),
            version: "v1".into(),
            api_version: "v1".into(),
            kind: kind.into(),
            plural: format!("{}s", kind.to_lowercase()),
        };
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    async fn make_namespace(&self, name: &str) {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let namespace: Namespace = serde_json::from_value(namespace).unwrap();
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces.create(&writer(), &namespace).await.unwrap();
    }

    async fn create(&mut self, mut object: Value, elsewhere: bool) {
        let mut namespace = self.namespace.clone();
        if elsewhere {
            namespace = self.other();
            self.make_namespace(&namespace).await;
        }
        if object["kind"] != "Node" {
            object["metadata"]["namespace"] = namespace.into();
        }
        let object: DynamicObject = serde_json::from_value(self.with_uids(object)).unwrap();
        let objects = DynamicClient::new(self.client.clone());
        let objects = objects.for_object(&object).await.unwrap();
        match objects.create(&writer(), &object).await {
            Ok(created) => {
                let uid = created.uid().unwrap();
                self.uids.insert(uid, format!("${}", created.name_any()));
            }
            // Another story has created the node.
            Err(error) if error.is_already_exists() => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// The names of uids.
    fn with_uids(&self, value: Value) -> Value {
        let mut text = value.to_string();
        for (uid, name) in &self.uids {
            text = text.replace(&format!("{name:?}"), &format!("{uid:?}"));
        }
        serde_json::from_str(&text).unwrap()
    }

    async fn patch(&self, kind: &str, name: &str, patch: &Patch<Value>) {
        let params = PatchParams {
            field_manager: Some(WRITER.to_owned()),
            ..PatchParams::default()
        };
        let objects = self.objects(kind);
        objects.patch(name, &params, patch).await.unwrap();
    }

    async fn release(&self, kind: &str, name: &str, finalizer: &str) {
        let object = self.objects(kind).get(name).await.unwrap();
        let mut left = object.finalizers().to_vec();
        left.retain(|other| other != finalizer);
        let patch = Patch::Merge(json!({"metadata": {"finalizers": left}}));
        self.patch(kind, name, &patch).await;
    }

    async fn has_condition(&self, type_: &str) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let has = |namespace: Option<&Namespace>| {
            let status = namespace.and_then(|namespace| namespace.status.as_ref());
            let conditions = status.and_then(|status| status.conditions.as_ref());
            conditions.is_some_and(|conditions| conditions.iter().any(|c| c.type_ == type_))
        };
        wait_for(&namespaces, &self.namespace, LONG, has)
            .await
            .unwrap();
    }

    async fn finalize(&self, finalizers: &Value) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let mut namespace = namespaces.get(&self.namespace).await.unwrap();
        namespace.spec.get_or_insert_default().finalizers =
            serde_json::from_value(finalizers.clone()).unwrap();
        let params = writer();
        namespaces
            .replace_subresource("finalize", &self.namespace, &params, &namespace)
            .await
            .unwrap();
    }

    async fn has_event(&self, reason: &str) {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let began = std::time::Instant::now();
        loop {
            let events = events.list(&ListParams::default()).await.unwrap().items;
            if events.iter().any(|e| e.reason.as_deref() == Some(reason)) {
                return;
            }
            assert!(began.elapsed() < LONG, "no event {reason}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Makes the collector forget that an owner of that uid does not exist.
    async fn puzzles(&self, uid: &str) {
        let Some((_, running)) = &self.cluster else {
            return tokio::time::sleep(REAL_PAUSE).await;
        };
        let collector = running.manager().controller("garbage-collector-controller");
        let collector = collector.unwrap();
        let began = std::time::Instant::now();
        let again = Some("requeue".to_owned());
        loop {
            let keys = collector.status().keys;
            if keys.iter().any(|k| k.key == uid && k.last_result == again) {
                return;
            }
            assert!(
                began.elapsed() < LONG,
                "it does not look for {uid}: {keys:?}"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn settle(&self) {
        match &self.cluster {
            Some((cluster, _)) => cluster.settled_within(LONG).await.unwrap(),
            None => tokio::time::sleep(REAL_PAUSE).await,
        }
    }

    /// Collects events from now on.
    async fn watch(&mut self) {
        let maps: Api<ConfigMap> = Api::all(self.client.clone());
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let maps = collect(maps, self.namespace.clone()).await;
        let namespaces = collect(namespaces, self.last_namespace()).await;
        self.watching = Some(Watching { maps, namespaces });
    }
}

fn writer() -> PostParams {
    PostParams {
        field_manager: Some(WRITER.to_owned()),
        ..PostParams::default()
    }
}

/// Collects events until an object of that name appears. The watch is established when this returns.
async fn collect<K>(api: Api<K>, last: String) -> JoinHandle<Vec<(String, Value)>>
where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + serde::Serialize + Send + 'static,
    K: std::fmt::Debug
        + k8s_openapi::Metadata<Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta>,
{
    let version = api.list(&ListParams::default()).await.unwrap().metadata;
    let version = version.resource_version.unwrap_or_default();
    let (up, is_up) = oneshot::channel();
    let collecting = tokio::spawn(async move {
        let mut seen = Vec::new();
        let stream = api.watch(&WatchParams::default(), &version).await.unwrap();
        let mut stream = std::pin::pin!(stream);
        up.send(()).unwrap();
        while let Some(event) = stream.next().await {
            let (type_, object) = match event.unwrap() {
                WatchEvent::Added(object) => ("ADDED", object),
                WatchEvent::Modified(object) => ("MODIFIED", object),
                WatchEvent::Deleted(object) => ("DELETED", object),
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(error) => panic!("{error:?}"),
            };
            if object.metadata().name.as_ref() == Some(&last) {
                return seen;
            }
            seen.push((type_.to_owned(), serde_json::to_value(object).unwrap()));
        }
        panic!("the watch ended")
    });
    is_up.await.unwrap();
    collecting
}

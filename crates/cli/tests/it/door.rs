//! A real kube-apiserver on the durable store, through etcd's API.

use std::{path::Path, sync::Arc};

use kubewright_etcd_door::Door;
use kubewright_store::Revision;
use kubewright_store_durable::{DurableStore, Options};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    etcd::{CRDS, MAPS, STARS, map, star, stars},
    kubernetes::{KubeApiServer, program, wait},
    server::Folder,
};

/// An open store behind its door.
struct Opened {
    runtime: Runtime,
    store: DurableStore,
    door: Door,
}

impl Opened {
    fn new(directory: &Path) -> Self {
        let runtime = Runtime::new().unwrap();
        let options = Options {
            first_revision: Revision(1),
            ..Options::default()
        };
        let entered = runtime.enter();
        let store = DurableStore::open(directory, options).unwrap();
        drop(entered);
        let maintained = store.clone();
        runtime.spawn(async move { maintained.run_maintenance().await });
        let address = "127.0.0.1:0".parse().unwrap();
        let door = runtime.block_on(Door::open(address, Arc::new(store.clone())));
        let door = door.unwrap();
        Self {
            runtime,
            store,
            door,
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.door.address())
    }

    fn close(self) {
        self.store.close();
        drop(self.door);
        self.runtime.shutdown_background();
    }
}

/// Returns the items of a list, without the version of the list.
fn items(kube: &KubeApiServer, path: &str) -> Value {
    let list = kube.get(path);
    assert!(list["items"].is_array(), "{path}: {list}");
    list["items"].clone()
}

#[test]
fn kube_apiserver_runs_on_the_durable_store() {
    let test = "kube_apiserver_runs_on_the_durable_store";
    let Some(program) = program("KUBEWRIGHT_KUBE_APISERVER", "kube-apiserver", test) else {
        return;
    };
    let folder = Folder::new();
    let directory = folder.path().join("store");
    let opened = Opened::new(&directory);
    let kube = KubeApiServer::start(&program, folder.path(), &opened.url(), &[]);

    // Writes: a create, a conflict, an update, a patch, a deletion.
    let (path, created) = kube.post(MAPS, &map("one"));
    let json = "Content-Type: application/json";
    let put = |object: &Value| -> Value {
        let text = object.to_string();
        let answer = kube.curl(&[&path, "-X", "PUT", "-H", json, "--data", &text]);
        serde_json::from_str(&answer).unwrap()
    };
    let mut changed = created.clone();
    changed["data"] = json!({"a": "c"});
    let updated = put(&changed);
    assert_eq!(updated["data"], json!({"a": "c"}));
    let conflict = put(&changed);
    assert_eq!(conflict["reason"], "Conflict", "{conflict}");
    let merge = "Content-Type: application/merge-patch+json";
    let patch = r#"{"data": {"b": "d"}}"#;
    kube.curl(&[&path, "-X", "PATCH", "-H", merge, "--data", patch]);
    assert_eq!(kube.get(&path)["data"], json!({"a": "c", "b": "d"}));
    for n in 0..25 {
        kube.post(MAPS, &map(&format!("m-{n:02}")));
    }
    kube.curl(&[&format!("{MAPS}/m-00"), "-X", "DELETE"]);

    // Pages of a list are of one revision, and a watch has what came after it.
    let mut names = Vec::new();
    let mut more = format!("{MAPS}?limit=7");
    let first = kube.get(&more);
    let version = first["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    loop {
        let page = kube.get(&more);
        let list = page["items"].as_array().expect("a page");
        names.extend(list.iter().map(|map| map["metadata"]["name"].clone()));
        match page["metadata"]["continue"].as_str().unwrap_or_default() {
            "" => break,
            token => more = format!("{MAPS}?limit=7&continue={token}"),
        }
    }
    assert!(names.contains(&json!("m-24")) && !names.contains(&json!("m-00")));
    let last = kube.post(MAPS, &map("last")).1;
    kube.curl(&[&format!("{MAPS}/m-01"), "-X", "DELETE"]);
    let watch = format!("{MAPS}?watch=1&timeoutSeconds=2&resourceVersion={version}");
    let events = kube.curl(&[&watch]);
    let events: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seen = |kind: &str, name: &str| {
        let is =
            |event: &&Value| event["type"] == kind && event["object"]["metadata"]["name"] == name;
        events.iter().any(|event| is(&event))
    };
    assert!(
        seen("ADDED", "last") && seen("DELETED", "m-01"),
        "{events:?}"
    );

    // A list as new as the store, which asks for the progress of a watch.
    let listed = kube.get(MAPS);
    let number = |version: &Value| {
        version
            .as_str()
            .and_then(|v| v.parse::<u64>().ok())
            .unwrap()
    };
    assert!(
        number(&listed["metadata"]["resourceVersion"])
            >= number(&last["metadata"]["resourceVersion"])
    );

    kube.post(CRDS, &stars());
    wait("the kind", || kube.get(STARS)["kind"] == "StarList");
    kube.post(STARS, &star("sun"));

    let lists = [
        MAPS,
        STARS,
        CRDS,
        "/api/v1/namespaces",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ];
    let before: Vec<Value> = lists.iter().map(|path| items(&kube, path)).collect();
    // Both end without a word, and everything is there again.
    drop(kube);
    opened.close();
    let opened = Opened::new(&directory);
    let kube = KubeApiServer::start(&program, folder.path(), &opened.url(), &[]);
    wait("the kind", || kube.get(STARS)["kind"] == "StarList");
    for (path, before) in lists.iter().zip(&before) {
        assert_eq!(items(&kube, path), *before, "{path}");
    }
    let again = kube.post(MAPS, &map("after")).1;
    assert!(
        number(&again["metadata"]["resourceVersion"])
            > number(&last["metadata"]["resourceVersion"])
    );
    drop(kube);
    opened.close();
}

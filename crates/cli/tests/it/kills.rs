//! `kubewright up --data-dir` that is killed under load: nothing acknowledged is lost.
//!
//! `KUBEWRIGHT_KILLS=300 cargo test -p kubewright-cli --test it kills` kills it more often.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
};

use serde_json::Value;

use crate::{
    https::{self, Peer},
    process::PATIENCE,
    server::{Folder, Server},
};

/// The number of kills of the ordinary test run.
const KILLS: usize = 30;
/// The number of clients that write at the same time.
const CLIENTS: usize = 4;
/// The collection that is written.
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The acknowledged objects: names and resource versions.
type Acknowledged = Arc<Mutex<BTreeMap<String, String>>>;

fn start(data: &Folder, round: usize) -> Server {
    let directory = data.path().join("data").display().to_string();
    // The end of the process is survived with both.
    let sync = ["always", "process"][round % 2];
    Server::start_with(&[
        "--controllers",
        "none",
        "--data-dir",
        &directory,
        "--sync",
        sync,
    ])
}

/// Creates objects until the server is gone. Each one that is acknowledged is noted and counted.
fn write(peer: &Peer, client: usize, round: usize, acknowledged: &Acknowledged, done: &Sender<()>) {
    for n in 0.. {
        let name = format!("r{round}-c{client}-{n}");
        let object = format!(
            r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "{name}"}}, "data": {{"name": "{name}"}}}}"#
        );
        let Some((201, body)) = peer.post(MAPS, &object) else {
            return;
        };
        let Ok(created) = serde_json::from_str::<Value>(&body) else {
            // Cut off: not acknowledged.
            return;
        };
        let version = created["metadata"]["resourceVersion"].as_str();
        let version = version.expect("a version").to_owned();
        acknowledged.lock().unwrap().insert(name, version);
        if done.send(()).is_err() {
            return;
        }
    }
}

/// Returns the objects of the server by name, and the version of the list.
fn listed(server: &Server) -> (BTreeMap<String, Value>, String) {
    let token = server.kubeconfig_value("token");
    let (code, body) = https::get(server, MAPS, Some(&token));
    assert_eq!(code, 200, "{body}");
    let list: Value = serde_json::from_str(&body).expect("a list");
    let version = list["metadata"]["resourceVersion"]
        .as_str()
        .expect("a version");
    let items = list["items"].as_array().expect("items").iter();
    let by_name = items.map(|item| {
        let name = item["metadata"]["name"].as_str().expect("a name");
        (name.to_owned(), item.clone())
    });
    (by_name.collect(), version.to_owned())
}

fn version_of(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.and_then(|v| v.parse().ok()).expect("a version")
}

/// Returns the names of objects that a watch tells of after a version.
fn watched(server: &Server, after: &str) -> Vec<String> {
    let token = server.kubeconfig_value("token");
    let path = format!("{MAPS}?watch=true&resourceVersion={after}&timeoutSeconds=1");
    let (code, body) = https::get(server, &path, Some(&token));
    assert_eq!(code, 200, "{body}");
    let events = body.lines().filter(|line| line.starts_with('{'));
    let names = events.map(|line| {
        let event: Value = serde_json::from_str(line).expect("an event");
        assert_eq!(event["type"], "ADDED", "{event}");
        event["object"]["metadata"]["name"]
            .as_str()
            .expect("a name")
            .to_owned()
    });
    names.collect()
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let kills = std::env::var("KUBEWRIGHT_KILLS").ok();
    let kills = kills.and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let data = Folder::new();
    let acknowledged = Acknowledged::default();
    let total = AtomicUsize::new(0);
    let mut before: Option<String> = None;
    for round in 0..=kills {
        let server = start(&data, round);
        let (there, version) = listed(&server);
        let promised = acknowledged.lock().unwrap().clone();
        for (name, version) in &promised {
            let object = there
                .get(name)
                .unwrap_or_else(|| panic!("{name} is lost after kill {round}"));
            assert_eq!(object["metadata"]["resourceVersion"], **version, "{name}");
            assert_eq!(object["data"]["name"], **name);
        }
        if let Some(before) = before.filter(|_| round % 10 == 0) {
            let after: u64 = before.parse().expect("a number");
            let mut expected: Vec<(u64, String)> = there
                .iter()
                .map(|(name, object)| (version_of(object), name.clone()))
                .filter(|(version, _)| *version > after)
                .collect();
            expected.sort_unstable();
            let expected: Vec<String> = expected.into_iter().map(|(_, name)| name).collect();
            assert_eq!(
                watched(&server, &before),
                expected,
                "a watch from {before} on"
            );
        }
        before = Some(version);
        if round == kills {
            break;
        }
        let peer = Arc::new(Peer::of(&server));
        let (done, acks) = channel();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (peer, acknowledged, done) = (peer.clone(), acknowledged.clone(), done.clone());
                thread::spawn(move || write(&peer, client, round, &acknowledged, &done))
            })
            .collect();
        drop(done);
        // Killed in the middle of the load, after another number of writes each time.
        for _ in 0..5 + round * 7 % 23 {
            acks.recv_timeout(PATIENCE).expect("an acknowledged write");
        }
        let (output, _) = server.signal("KILL");
        assert!(!output.contains("panicked"), "{output}");
        drop(acks);
        for client in clients {
            client.join().expect("a client");
        }
        total.store(acknowledged.lock().unwrap().len(), Ordering::Relaxed);
    }
    println!(
        "{kills} kills, {} acknowledged writes",
        total.load(Ordering::Relaxed)
    );
}

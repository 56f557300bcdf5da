//! `kubewright up --data-dir` that is killed under load: nothing acknowledged is lost.
//!
//! `KUBEWRIGHT_KILLS=300 cargo test -p kubewright-cli --test it kills` kills it more often.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        Arc, Mutex,
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
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

/// The objects of the clients by name.
type Objects = Arc<Mutex<BTreeMap<String, Written>>>;

/// An object: its acknowledged version and value, unless it is deleted, and the write without a response.
#[derive(Clone, Default)]
struct Written {
    acknowledged: Option<(u64, String)>,
    pending: Option<Pending>,
}

/// A write without a response, which has happened or not.
#[derive(Clone)]
enum Pending {
    Value(String),
    Deletion,
}

/// A small random number generator.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % bound
    }
}

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

/// A client that creates, replaces, patches and deletes objects of its own.
struct Client<'a> {
    peer: &'a Peer,
    objects: &'a Objects,
    rng: Rng,
    /// The names of its objects.
    names: Vec<String>,
}

impl Client<'_> {
    /// Writes until the server is gone. Each acknowledged write is recorded and counted.
    fn run(&mut self, prefix: &str, done: &Sender<()>) {
        for n in 0.. {
            let written = match (self.names.len() as u64, self.rng.below(8)) {
                (0, _) | (_, 0..=2) => self.create(format!("{prefix}-{n}")),
                (count, 7) => {
                    let at = self.rng.below(count) as usize;
                    let name = self.names.swap_remove(at);
                    self.write("DELETE", &name, Pending::Deletion)
                }
                (count, turn) => {
                    let name = self.names[self.rng.below(count) as usize].clone();
                    let method = if turn < 5 { "PUT" } else { "PATCH" };
                    self.write(method, &name, Pending::Value(format!("{prefix}-{n}")))
                }
            };
            if written.is_none() || done.send(()).is_err() {
                return;
            }
        }
    }

    fn create(&mut self, name: String) -> Option<()> {
        self.write("POST", &name, Pending::Value(name.clone()))?;
        self.names.push(name);
        Some(())
    }

    /// Makes a request. Returns `None` if it was not acknowledged.
    fn write(&self, method: &str, name: &str, write: Pending) -> Option<()> {
        let value = match &write {
            Pending::Value(value) => Some(value.clone()),
            Pending::Deletion => None,
        };
        let body = match (&value, method) {
            (None, _) => String::new(),
            (Some(value), "PATCH") => format!(r#"{{"data": {{"value": "{value}"}}}}"#),
            (Some(value), _) => format!(
                r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "{name}"}}, "data": {{"value": "{value}"}}}}"#
            ),
        };
        let path = match method {
            "POST" => MAPS.to_owned(),
            _ => format!("{MAPS}/{name}"),
        };
        let content_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut objects = self.objects.lock().unwrap();
        objects.entry(name.to_owned()).or_default().pending = Some(write);
        drop(objects);
        let (code, body) = self.peer.send(method, &path, content_type, &body)?;
        // Cut off: not acknowledged.
        let answer: Value = serde_json::from_str(&body).ok()?;
        assert!(matches!(code, 200 | 201), "{method} {name}: {answer}");
        let acknowledged = value.map(|value| (version_of(&answer), value));
        let pending = None;
        let mut objects = self.objects.lock().unwrap();
        objects.insert(
            name.to_owned(),
            Written {
                acknowledged,
                pending,
            },
        );
        Some(())
    }
}

/// Compares the objects of a restarted server with those that were acknowledged, and adopts them.
fn compare(objects: &Objects, there: &BTreeMap<String, Value>) {
    let mut objects = objects.lock().unwrap();
    for (name, written) in &mut *objects {
        let found = there.get(name).map(|object| {
            let value = object["data"]["value"].as_str().expect("a value");
            (version_of(object), value.to_owned())
        });
        let is_pending = match (&written.pending, &found) {
            (Some(Pending::Deletion), None) => true,
            (Some(Pending::Value(value)), Some((version, found))) => {
                let before = written.acknowledged.as_ref().map(|(version, _)| *version);
                value == found && Some(*version) > before
            }
            _ => false,
        };
        assert!(
            found == written.acknowledged || is_pending,
            "{name} is {found:?}, and {:?} was acknowledged",
            written.acknowledged
        );
        written.acknowledged = found;
        written.pending = None;
    }
    for name in there.keys() {
        let is_own = !name.starts_with('r') || objects.contains_key(name);
        assert!(is_own, "{name} was never written");
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

/// The names and versions of all objects.
type Versions = BTreeMap<String, u64>;

fn versions(objects: &BTreeMap<String, Value>) -> Versions {
    let versions = objects.iter();
    versions
        .map(|(name, object)| (name.clone(), version_of(object)))
        .collect()
}

/// Returns the objects of a list after the changes that a watch delivers.
fn followed(server: &Server, mut versions: Versions, after: &str) -> Versions {
    let token = server.kubeconfig_value("token");
    let path = format!("{MAPS}?watch=true&resourceVersion={after}&timeoutSeconds=1");
    let (code, body) = https::get(server, &path, Some(&token));
    assert_eq!(code, 200, "{body}");
    let mut last = after.parse::<u64>().expect("a number");
    for line in body.lines().filter(|line| line.starts_with('{')) {
        let event: Value = serde_json::from_str(line).expect("an event");
        let object = &event["object"];
        let version = version_of(object);
        assert!(version > last, "{event}");
        last = version;
        let name = object["metadata"]["name"].as_str().expect("a name");
        let before = versions.remove(name);
        let kind = event["type"].as_str().expect("a type");
        assert_eq!(kind == "ADDED", before.is_none(), "{event}");
        if kind != "DELETED" {
            versions.insert(name.to_owned(), version);
        }
    }
    versions
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let kills = std::env::var("KUBEWRIGHT_KILLS").ok();
    let kills = kills.and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let data = Folder::new();
    let objects = Objects::default();
    let mut rng = Rng(RandomState::new().build_hasher().finish());
    let mut total = 0;
    let mut before: Option<(Versions, String)> = None;
    for round in 0..=kills {
        let server = start(&data, round);
        let (there, version) = listed(&server);
        compare(&objects, &there);
        if let Some((list, version)) = before.filter(|_| round % 10 == 0) {
            let now = followed(&server, list, &version);
            assert_eq!(now, versions(&there), "a watch from {version} on");
        }
        before = Some((versions(&there), version));
        if round == kills {
            break;
        }
        let peer = Arc::new(Peer::of(&server));
        let (done, acks) = channel();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (peer, objects, done) = (peer.clone(), objects.clone(), done.clone());
                let rng = Rng(rng.below(u64::MAX));
                thread::spawn(move || {
                    let mut writer = Client {
                        peer: &peer,
                        objects: &objects,
                        rng,
                        names: Vec::new(),
                    };
                    writer.run(&format!("r{round}-c{client}"), &done);
                })
            })
            .collect();
        drop(done);
        // Killed in the middle of the load, at any moment of a write.
        for _ in 0..5 + rng.below(23) {
            acks.recv_timeout(PATIENCE).expect("an acknowledged write");
            total += 1;
        }
        thread::sleep(Duration::from_micros(rng.below(5000)));
        let (output, _) = server.signal("KILL");
        assert!(!output.contains("panicked"), "{output}");
        drop(acks);
        for client in clients {
            client.join().expect("a client");
        }
    }
    println!("{kills} kills, at least {total} acknowledged writes");
}

//! Shared by the cases of servers: ours and kube-apiserver take turns, with a namespace for the objects and a check
//! that none is missing.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{Bench, OURS, ask, on_one_thread};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    endpoint::Endpoint,
    load::{Load, Outcome, counting},
    machine::says,
    proc,
    requests::{self, JSON, PROTOBUF, Parts, Template},
    results::Section,
    rows::Row,
    server::Server,
    wire::Protocol,
};

/// The name of the peer's column.
pub(super) const PEER: &str = "kube-apiserver + etcd";
/// The number of connections of a load.
pub(super) const CONNECTIONS: usize = 32;
/// The warm-up time of a load, which is not counted.
pub(super) const WARM_UP: Duration = Duration::from_millis(300);
/// The size of the value of ConfigMaps that are created and read.
pub(super) const VALUE_BYTES: usize = 512;

/// The time limit of the preparation and of each turn.
const LIMIT: Duration = Duration::from_secs(150);

/// A way to send the same requests. Its rows have the key of the usual way with a suffix.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) key: &'static str,
    pub(super) label: &'static str,
    pub(super) protocol: Protocol,
    /// The media type of bodies, both ways.
    pub(super) media_type: &'static str,
}

/// JSON by HTTP/1.1.
pub(super) const USUAL: Way = Way {
    key: "",
    label: "",
    protocol: Protocol::Http1,
    media_type: JSON,
};
/// JSON by HTTP/2, one stream for each connection.
pub(super) const HTTP2: Way = Way {
    key: "_http2",
    label: ", HTTP/2",
    protocol: Protocol::Http2,
    media_type: JSON,
};
/// Protobuf by HTTP/1.1.
pub(super) const IN_PROTOBUF: Way = Way {
    key: "_protobuf",
    label: ", protobuf",
    protocol: Protocol::Http1,
    media_type: PROTOBUF,
};
/// Protobuf by HTTP/2.
pub(super) const PROTOBUF_HTTP2: Way = Way {
    key: "_protobuf_http2",
    label: ", protobuf, HTTP/2",
    protocol: Protocol::Http2,
    media_type: PROTOBUF,
};

impl Way {
    /// Returns a request. A JSON body is encoded as the way requires.
    pub(super) fn request(
        self,
        endpoint: &Endpoint,
        method: &str,
        target: &str,
        body: &str,
    ) -> anyhow::Result<Template> {
        let encoded = match self.media_type {
            PROTOBUF if !body.is_empty() => requests::in_protobuf(body)?,
            _ => body.as_bytes().to_vec(),
        };
        let parts = Parts {
            protocol: self.protocol,
            accept: self.media_type,
            content_type: self.media_type,
            ..Parts::new(method, target, &encoded)
        };
        Ok(Template::of(endpoint, parts))
    }

    /// Returns the key of a row.
    pub(super) fn key(self, key: &str) -> String {
        format!("{key}{}", self.key)
    }

    /// Returns the rows of a way that is not the usual one: rate and processor time.
    pub(super) fn rows(self, verb: &str, target: impl FnOnce(Row) -> Row) -> [Row; 2] {
        let label = |text: &str| format!("{text}{}", self.label);
        [
            target(Row::rate(&self.key("rate"), &label(verb), "/s")),
            Row::cost(
                &self.key("processor"),
                &label("server's processor time for one"),
                "µs",
            ),
        ]
    }

    /// Records those rows.
    pub(super) fn note(self, sample: &mut Sample, outcome: &Outcome) {
        let rows = [
            ("rate", outcome.rate()),
            ("processor", super::micros(outcome.processor())),
        ];
        for (key, figure) in rows {
            sample.figures.insert(self.key(key), figure);
        }
    }
}

/// The way a case uses its servers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Servers {
    /// One server of each, for all rounds.
    Kept,
    /// A new server for each turn.
    Fresh,
    /// A new server for each turn, with only one turn for the peer, since it is long.
    FreshAndPeerOnce,
}

/// The place where the servers of a case keep their objects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    /// In memory, and an etcd that does not wait for the disk.
    InMemory,
    /// On disk: what is acknowledged is durable.
    OnDisk,
    /// Both in an etcd of their own that does not wait for the disk.
    InEtcd,
}

/// Lets ours and kube-apiserver take turns, in memory. See [`contest_of`].
pub(super) fn contest<S>(
    bench: &Bench,
    section: &mut Section,
    rounds: (Servers, usize),
    prepare: impl AsyncFn(&Server) -> anyhow::Result<S>,
    turn: impl AsyncFn(&Endpoint, &mut S) -> anyhow::Result<Sample>,
) {
    contest_of(Keeping::InMemory, bench, section, rounds, prepare, turn);
}

/// Lets ours and kube-apiserver take turns. Each is prepared after its start; a turn gets the result of the
/// preparation.
pub(super) fn contest_of<S>(
    keeping: Keeping,
    bench: &Bench,
    section: &mut Section,
    (servers, rounds): (Servers, usize),
    prepare: impl AsyncFn(&Server) -> anyhow::Result<S>,
    turn: impl AsyncFn(&Endpoint, &mut S) -> anyhow::Result<Sample>,
) {
    let (prepare, turn) = (&prepare, &turn);
    let side = |name, start: Box<dyn Fn() -> anyhow::Result<Server>>| {
        let mut running: Option<(Server, S)> = None;
        Contestant::new(name, move || {
            if servers != Servers::Kept {
                running = None;
            }
            if running.is_none() {
                let server = start()?;
                let state = in_time(prepare(&server)).context("preparing")?;
                running = Some((server, state));
            }
            let (server, state) = running.as_mut().context("a server was started")?;
            measured(&server.endpoint, || in_time(turn(&server.endpoint, state)))
        })
    };
    let (ours, programs) = (bench.server.clone(), bench.apiserver.clone());
    let latency = bench.added_sync_latency;
    let start_ours = move || match keeping {
        Keeping::InMemory => Server::ours(&ours),
        Keeping::OnDisk => Server::ours_on_disk(&ours, latency),
        Keeping::InEtcd => {
            let programs = programs.as_ref().context("no etcd given (--peer-etcd)")?;
            Server::ours_in_etcd(&ours, programs)
        }
    };
    let ours = side(OURS, Box::new(start_ours));
    let peer = match bench.apiserver.clone() {
        Some(programs) => {
            for program in [&programs.apiserver, &programs.etcd] {
                if let Some((name, version)) = version(program) {
                    section.versions.insert(name, version);
                }
            }
            let start_peer = move || match keeping {
                Keeping::InMemory | Keeping::InEtcd => Server::peer(&programs),
                Keeping::OnDisk => Server::peer_on_disk(&programs),
            };
            let peer = side(PEER, Box::new(start_peer));
            match servers {
                Servers::FreshAndPeerOnce => peer.once(),
                Servers::Kept | Servers::Fresh => peer,
            }
        }
        None => Contestant::absent(PEER, "no binaries given (--peer-apiserver and --peer-etcd)"),
    };
    hold(section, rounds, &Digests::new(), vec![ours, peer]);
}

/// Returns the version output of a program: `Kubernetes v1.36.3`, `etcd Version: 3.6.4`.
fn version(program: &std::path::Path) -> Option<(String, String)> {
    let line = says(program, "--version")?;
    let (name, version) = line.rsplit_once(' ')?;
    let name = match name {
        "Kubernetes" => "kube-apiserver",
        _ => "etcd",
    };
    Some((name.to_owned(), version.to_owned()))
}

/// Runs a turn, and records the resources of the server.
pub(super) fn measured(
    endpoint: &Endpoint,
    turn: impl FnOnce() -> anyhow::Result<Sample>,
) -> anyhow::Result<Sample> {
    let pids = &endpoint.pids;
    proc::forget_peak(pids)?;
    let before = proc::processor_time(pids)?;
    let mut sample = turn()?;
    // A case that starts the measurement earlier records this itself.
    if sample.cpu_seconds == 0.0 {
        sample.cpu_seconds = (proc::processor_time(pids)? - before).as_secs_f64();
    }
    // A case that measures the peak resets it itself.
    sample.peak_bytes = sample.peak_bytes.max(proc::peak(pids)? as f64);
    Ok(sample)
}

/// Runs work on this thread with a time limit.
pub(super) fn in_time<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    on_one_thread(async {
        let done = tokio::time::timeout(LIMIT, work).await;
        done.with_context(|| format!("timed out after {} s", LIMIT.as_secs()))?
    })
}

/// Creates a namespace for the objects of a turn, and returns its name.
pub(super) async fn namespace(endpoint: &Endpoint) -> anyhow::Result<String> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let name = format!("bench-{}", since.as_micros());
    let body =
        format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
    let request = Template::new(endpoint, "POST", "/api/v1/namespaces", &body);
    ask(endpoint, &request, 201)
        .await
        .context("cannot make a namespace")?;
    Ok(name)
}

/// Creates numbered ConfigMaps.
pub(super) async fn fill(
    endpoint: &Endpoint,
    namespace: &str,
    count: u64,
    value_bytes: usize,
) -> anyhow::Result<()> {
    let path = requests::config_maps(namespace);
    create(endpoint, &path, &requests::config_map(value_bytes), count).await
}

/// Creates numbered objects of any kind.
pub(super) async fn create(
    endpoint: &Endpoint,
    path: &str,
    body: &str,
    count: u64,
) -> anyhow::Result<()> {
    let load = Load {
        endpoint,
        connections: CONNECTIONS,
        request: Template::new(endpoint, "POST", path, body),
        status: 201,
        numbers: counting(0, count),
        warm_up: Duration::ZERO,
        time: LIMIT,
    };
    load.run().await.context("cannot create objects")?;
    Ok(())
}

/// Checks that the server has exactly the objects that it reported as created.
pub(super) async fn check_count(
    endpoint: &Endpoint,
    path: &str,
    created: u64,
) -> anyhow::Result<()> {
    let request = Template::new(endpoint, "GET", &format!("{path}?limit=1"), "");
    let list: Value = serde_json::from_str(&ask(endpoint, &request, 200).await?)?;
    let here = list["items"].as_array().map_or(0, Vec::len) as u64;
    let more = list["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
    ensure!(
        here + more == created,
        "scores nothing: it said that it created {created} objects, and has {}",
        here + more
    );
    Ok(())
}

/// Returns the usual rows of a load: rate, median, 99th percentile, processor time.
pub(super) fn note(sample: &mut Sample, outcome: &Outcome) {
    let mut add = |key: &str, figure| sample.figures.insert(key.to_owned(), figure);
    add("rate", outcome.rate());
    add("p50", super::millis(outcome.percentile(50)));
    add("p99", super::millis(outcome.percentile(99)));
    add("processor", super::micros(outcome.processor()));
}

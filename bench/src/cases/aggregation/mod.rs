//! An API server of one's own behind ours.
//!
//! | module | contents |
//! |---|---|
//! | `program` | the processes of the contestants |
//! | `streams` | open streams, and an echo over a WebSocket |
//! | `forms` | JSON and protobuf of a kind |

mod forms;
mod program;
mod streams;

use std::time::Duration;

use anyhow::ensure;

use super::{
    Bench, Case, OURS, ask, micros, millis,
    servers::{self, CONNECTIONS, WARM_UP},
    widgets,
};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    endpoint::Endpoint,
    load::{Load, Numbers, Outcome, counting, scattered},
    requests::{self, Template},
    results::Section,
    roles::aggregation::{CUSTOM, TYPED},
    rows::Row,
};
use program::{Extension, SampleApiserver};

pub(crate) const CASE: Case = Case {
    name: "aggregation",
    title: "an API server of one's own: stored, computed, proxied, streamed",
    what: "An extension server with kinds from Rust types behind a cluster of ours, each over TLS, in one process; users are checked \
           by the cluster. Created: widgets of 4 KB with three CEL rules, in memory, and the same widgets as a custom resource of the \
           cluster. Read: one of 10,000 small objects in a map, and all of them in one list, beside as many Flunders of upstream's \
           sample-apiserver on etcd. The aggregator's part is the median of reads through the cluster less that of direct ones, on one \
           connection. Protobuf and JSON are those of one widget; decoding is that of the server. Memory is what resident memory grew \
           by when logs were opened on connections of their own. The echo is one of 8 bytes over an open WebSocket, as exec has it.",
    run,
};

const SAMPLE: &str = "sample-apiserver + etcd";
const RESOURCE: &str = "custom resource";
/// The number of computed objects.
const OBJECTS: u64 = 10_000;
/// The time limit of a turn.
const LIMIT: Duration = Duration::from_secs(300);

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("created", "stored objects created", "/s").better(0.9, RESOURCE),
        Row::rate("got", "computed objects read", "/s").at_least(40_000.0),
        Row::cost("listed", "a list of 10,000 computed objects", "ms").better(10.0, SAMPLE),
        Row::cost("proxied", "added by the aggregator to a read, median", "µs").at_most(100.0),
        Row::rate("smaller", "protobuf smaller than JSON", "times").at_least(2.0),
        Row::rate("decoded", "protobuf decoded faster than JSON", "times").at_least(2.0),
        Row::cost("stream", "memory per open stream", "KB").at_most(30.0),
        Row::cost("echo", "round trip of an echo, median", "µs").at_most(200.0),
    ];
    let time = Duration::from_millis(bench.size(3000, 300));
    let ours = Contestant::new(OURS, || ours(bench, time));
    let resource = Contestant::new(RESOURCE, || resource(time));
    let sample = match SampleApiserver::program(bench) {
        Ok(programs) => Contestant::new(SAMPLE, move || {
            in_time(async { sample(&programs, time).await })
        }),
        Err(reason) => Contestant::absent(SAMPLE, reason),
    };
    let all = vec![ours, resource, sample];
    hold(section, bench.rounds(3), &Digests::new(), all);
    Ok(())
}

fn in_time<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    super::on_one_thread(async {
        match tokio::time::timeout(LIMIT, work).await {
            Ok(done) => done,
            Err(_) => anyhow::bail!("timed out after {} s", LIMIT.as_secs()),
        }
    })
}

fn ours(bench: &Bench, time: Duration) -> anyhow::Result<Sample> {
    let extension = Extension::start(OBJECTS)?;
    let (direct, cluster) = (&extension.direct, &extension.cluster);
    let streams = bench.size(5000, 100);
    in_time(async {
        program::wait(cluster, &format!("/apis/{TYPED}/v1")).await?;
        let mut sample = Sample::default();
        let mut add = |key: &str, figure: f64| sample.figures.insert(key.to_owned(), figure);
        add("created", created(direct, TYPED, time).await?.rate());

        let one = format!("{}/{}", readings(), requests::numbered_name("reading"));
        let got = read(direct, &one, (CONNECTIONS, scattered(OBJECTS)), time);
        add("got", got.await?.rate());
        let listed = listed(direct, &readings(), time).await?;
        add("listed", millis(listed.percentile(50)));

        let alone = |endpoint| read(endpoint, &one, (1, scattered(OBJECTS)), time);
        let straight = alone(direct).await?.percentile(50);
        let around = alone(cluster).await?.percentile(50);
        add("proxied", micros(around) - micros(straight));

        let (smaller, decoded) = forms::compared(direct, &widget_paths(TYPED)).await?;
        add("smaller", smaller);
        add("decoded", decoded);
        let first = format!("{}/reading-{:010}", readings(), 0);
        add("stream", streams::memory(direct, &first, streams).await?);
        let echoes = bench.size(5000, 200);
        add("echo", micros(streams::echo(direct, &first, echoes).await?));
        Ok(sample)
    })
}

fn resource(time: Duration) -> anyhow::Result<Sample> {
    let extension = Extension::start(1)?;
    let cluster = &extension.cluster;
    in_time(async {
        program::wait(cluster, &format!("/apis/{CUSTOM}/v1")).await?;
        let mut sample = Sample::default();
        let created = created(cluster, CUSTOM, time).await?;
        sample.figures.insert("created".to_owned(), created.rate());
        Ok(sample)
    })
}

async fn sample(programs: &SampleApiserver, time: Duration) -> anyhow::Result<Sample> {
    let running = programs.start().await?;
    let endpoint = &running.endpoint;
    let flunders = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders";
    program::wait(endpoint, "/apis/wardle.example.com/v1alpha1").await?;
    let body = format!(
        r#"{{"apiVersion":"wardle.example.com/v1alpha1","kind":"Flunder","metadata":{{"name":"{}","labels":{{"app":"bench","tier":"front"}}}},"spec":{{"reference":"a flunder that refers to another one"}}}}"#,
        requests::numbered_name("flunder")
    );
    let fill = Load {
        endpoint,
        connections: CONNECTIONS,
        request: Template::new(endpoint, "POST", flunders, &body),
        status: 201,
        numbers: counting(0, OBJECTS),
        warm_up: Duration::ZERO,
        time: LIMIT,
    };
    fill.run().await?;
    servers::check_count(endpoint, flunders, OBJECTS).await?;
    let mut sample = Sample::default();
    let one = format!("{flunders}/{}", requests::numbered_name("flunder"));
    let got = read(endpoint, &one, (CONNECTIONS, scattered(OBJECTS)), time);
    sample.figures.insert("got".to_owned(), got.await?.rate());
    let listed = listed(endpoint, flunders, time).await?;
    let median = millis(listed.percentile(50));
    sample.figures.insert("listed".to_owned(), median);
    Ok(sample)
}

fn readings() -> String {
    format!("/apis/{TYPED}/v1/namespaces/default/readings")
}

/// Returns the path of widgets of a group.
fn widget_paths(group: &str) -> String {
    format!("/apis/{group}/v1/namespaces/default/widgets")
}

/// Creates widgets.
async fn created(endpoint: &Endpoint, group: &str, time: Duration) -> anyhow::Result<Outcome> {
    let path = widget_paths(group);
    let body = widgets::object_of(&format!("{group}/v1"), "Widget", &requests::hole());
    let load = Load {
        endpoint,
        connections: CONNECTIONS,
        request: Template::new(endpoint, "POST", &path, &body),
        status: 201,
        numbers: counting(0, u64::MAX),
        warm_up: WARM_UP,
        time,
    };
    load.run().await
}

/// Reads objects over so many connections.
async fn read(
    endpoint: &Endpoint,
    path: &str,
    (connections, numbers): (usize, Numbers),
    time: Duration,
) -> anyhow::Result<Outcome> {
    let load = Load {
        endpoint,
        connections,
        request: Template::new(endpoint, "GET", path, ""),
        status: 200,
        numbers,
        warm_up: WARM_UP,
        time,
    };
    load.run().await
}

/// Lists all objects on one connection, after a list that is checked.
async fn listed(endpoint: &Endpoint, path: &str, time: Duration) -> anyhow::Result<Outcome> {
    let request = Template::new(endpoint, "GET", path, "");
    let list: serde_json::Value = serde_json::from_str(&ask(endpoint, &request, 200).await?)?;
    let items = list["items"].as_array().map_or(0, Vec::len) as u64;
    ensure!(
        items == OBJECTS,
        "scores nothing: a list has {items} objects, not {OBJECTS}"
    );
    read(endpoint, path, (1, counting(0, u64::MAX)), time).await
}

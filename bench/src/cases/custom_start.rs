//! A start with many CustomResourceDefinitions in the store.

use std::time::Instant;

use anyhow::{Context, ensure};
use http::{Method, Request, header};
use kubewright_apiserver::Body;
use kubewright_kube_apiserver::KubeApiServer;
use tokio::runtime::{Builder, Runtime};

use super::{Bench, Case, OURS, millis, widgets};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "custom-start",
    title: "start-up with 500 definitions in the store",
    what: "Ours alone, in process: 500 definitions, each with the schema and rules of `custom-resources`, are in a store in memory, \
           written by an API server that is gone. A new one is started on that store: until it is ready, and until an object \
           of the last definition is accepted, whose rules are compiled for that.",
    run,
};

/// The maximum size of a response.
const LONGEST: usize = 1 << 20;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("ready", "ready", "ms"),
        Row::cost("accepted", "object accepted", "ms").at_most(500.0),
    ];
    let many = bench.size(500, 20);
    let ours = Contestant::new(OURS, move || turn(many));
    hold(section, bench.rounds(5), &Digests::new(), vec![ours]);
    Ok(())
}

fn turn(many: usize) -> anyhow::Result<Sample> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let result = measure(&runtime, many);
    runtime.shutdown_background();
    result
}

fn measure(runtime: &Runtime, many: usize) -> anyhow::Result<Sample> {
    let start = |builder: kubewright_kube_apiserver::KubeApiServerBuilder| {
        let server = runtime.block_on(builder.build());
        server.map_err(|e| anyhow::anyhow!("the API server did not start: {}", e.message))
    };
    let first = start(KubeApiServer::builder())?;
    for number in 0..many {
        let definition = widgets::definition(number);
        let code = runtime.block_on(post(&first, widgets::DEFINITIONS, definition))?;
        ensure!(code == 201, "definition {number} was answered {code}");
    }
    let store = first.store().clone();
    drop(first);
    let last = many.checked_sub(1).context("no definitions")?;
    let (path, object) = (
        widgets::path(last, "default"),
        widgets::object(last, "first"),
    );
    let began = Instant::now();
    let second = start(KubeApiServer::builder().store(store))?;
    let ready = began.elapsed();
    let code = runtime.block_on(post(&second, &path, object))?;
    let accepted = began.elapsed();
    ensure!(
        code == 201,
        "scores nothing: the object was answered {code}"
    );
    let figures = [("ready", ready), ("accepted", accepted)];
    let figures = figures.map(|(key, time)| (key.to_owned(), millis(time)));
    Ok(Sample {
        figures: figures.into(),
        ..Sample::default()
    })
}

async fn post(server: &KubeApiServer, path: &str, body: String) -> anyhow::Result<u16> {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body))?;
    let response = server.server().handle(request).await;
    let code = response.status().as_u16();
    let read = response.into_body().collect_up_to(LONGEST).await;
    let read = read.map_err(|e| anyhow::anyhow!("the answer broke off: {e}"))?;
    ensure!(read.is_some(), "the answer is longer than {LONGEST} bytes");
    Ok(code)
}

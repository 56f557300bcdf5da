//! The cost of the ledger of writes, in process.

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use http::Request;
use kubewright_apiserver::{Body, auth::MASTERS, request::UserInfo};
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_ledger::Ledger;

use super::{Bench, Case, OURS, micros, on_one_thread, servers::VALUE_BYTES};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    proc, requests,
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "ledger",
    title: "cost of the ledger of writes",
    what: "Ours alone, in process: processor time of a request that creates a ConfigMap of 512 bytes, on a server without a ledger \
           (`--no-ledger`) and on one with a ledger, and the memory of one write as the ledger counts it. The servers take turns, a few \
           hundred requests each.",
    run,
};

/// The requests of one turn of a server.
const BATCH: u32 = 500;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("without", "create without a ledger", "µs"),
        Row::cost("with", "create with a ledger", "µs"),
        Row::cost("added", "added by the ledger", "µs").at_most(1.0),
        Row::cost("memory", "memory of a write", "B").at_most(300.0),
    ];
    let batches = bench.size(40, 2);
    let ours = Contestant::new(OURS, move || on_one_thread(turn(batches)));
    hold(section, bench.rounds(5), &Digests::new(), vec![ours]);
    Ok(())
}

async fn turn(batches: u32) -> anyhow::Result<Sample> {
    let ledger = Ledger::new();
    let mut servers = [
        (start(None).await?, Duration::ZERO),
        (start(Some(ledger.clone())).await?, Duration::ZERO),
    ];
    let mut next = 0;
    for _ in 0..batches {
        for (server, time) in &mut servers {
            let before = proc::thread_time()?;
            for number in next..next + BATCH {
                create(server, number).await?;
            }
            *time += proc::thread_time()? - before;
        }
        next += BATCH;
    }
    let [without, with] = servers.map(|(_, time)| micros(time / next));
    let [recorded, ..] = ledger.bounds();
    let kept = recorded.last + 1 - recorded.first;
    let mut sample = Sample::default();
    for (key, figure) in [
        ("without", without),
        ("with", with),
        ("added", with - without),
        ("memory", recorded.bytes as f64 / kept as f64),
    ] {
        sample.figures.insert(key.to_owned(), figure);
    }
    Ok(sample)
}

async fn start(ledger: Option<Ledger>) -> anyhow::Result<KubeApiServer> {
    let server = KubeApiServer::builder().ledger(ledger).build().await;
    server.map_err(|status| anyhow::anyhow!(status.message))
}

async fn create(server: &KubeApiServer, number: u32) -> anyhow::Result<()> {
    let body = requests::config_map_named(&format!("map-{number}"), VALUE_BYTES);
    let admin = Arc::new(UserInfo {
        name: "admin".to_owned(),
        groups: vec![MASTERS.to_owned()],
        ..UserInfo::default()
    });
    let request = Request::post(requests::config_maps("default"))
        .header("content-type", "application/json")
        .header("user-agent", "bench")
        .body(Body::from(body))?;
    let status = server.server().handle_as(admin, request).await.status();
    ensure!(status == 201, "cannot create an object: {status}");
    Ok(())
}

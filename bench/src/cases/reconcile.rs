//! The cost of a reconcile that does nothing, reads its object, or writes its status.

use std::time::Duration;

use anyhow::ensure;
use kubewright_bench_operator::{Mode, Work};
use serde_json::Value;

use super::{
    Bench, Case, ask,
    controllers::{self, PEER},
    servers,
};
use crate::{
    contest::Digests,
    endpoint::Endpoint,
    requests::{self, Template},
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "reconcile",
    title: "cost of a reconcile",
    what: "A controller for 5,000 Deployments of 4 KB, with 4 workers, on a server in another process, over TLS. Every key is added to \
           the queue again and again: the reconcile does nothing; then it reads its object from the cache; then it reads it and \
           writes its status (an update of the subresource, whose event comes back by watch). Processor time is that of the \
           controller's process alone, of all its threads. Afterwards every object on the server must have the last status.",
    run,
};

/// The page size of the check.
const PAGE: u64 = 500;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate(
            "noop_rate",
            "reconciles that do nothing",
            "per processor second",
        )
        .at_least(20_000.0),
        Row::rate(
            "read_rate",
            "reconciles that read their object",
            "per processor second",
        )
        .better(4.0, PEER),
        Row::cost(
            "status_cpu_micros",
            "processor time for one that writes status",
            "µs",
        )
        .better(4.0, PEER),
    ];
    let work = Work {
        mode: Mode::Reconcile,
        objects: bench.size(5000, 200),
        workers: 4,
        noops: bench.size(50, 5),
        writes: 2,
        ..Work::default()
    };
    let limit = Duration::from_secs(bench.size(240, 120));
    let rounds = (bench.rounds(3), limit);
    controllers::contest(
        bench,
        section,
        rounds,
        &Digests::new(),
        |server, program| {
            let endpoint = &server.endpoint;
            let (namespace, path) = servers::in_time(async {
                let namespace = servers::namespace(endpoint).await?;
                let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
                servers::create(endpoint, &path, &requests::deployment(), work.objects).await?;
                Ok((namespace, path))
            })?;
            let sample = program(Work {
                namespace,
                ..work.clone()
            })?
            .run()?;
            servers::in_time(check(endpoint, &path, &work))?;
            Ok(sample)
        },
    );
    Ok(())
}

/// Checks that every object has the last status.
async fn check(endpoint: &Endpoint, path: &str, work: &Work) -> anyhow::Result<()> {
    let mut right = 0;
    let mut token = String::new();
    loop {
        let page = format!("{path}?limit={PAGE}&continue={token}");
        let request = Template::new(endpoint, "GET", &page, "");
        let list: Value = serde_json::from_str(&ask(endpoint, &request, 200).await?)?;
        let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
        let is_right = |item: &&Value| {
            let status = &item["status"];
            [
                "replicas",
                "updatedReplicas",
                "readyReplicas",
                "availableReplicas",
            ]
            .iter()
            .all(|field| status[field].as_u64() == Some(work.writes))
                && status["observedGeneration"] == item["metadata"]["generation"]
        };
        right += items.iter().filter(is_right).count() as u64;
        token = match list["metadata"]["continue"].as_str() {
            Some(token) if !token.is_empty() => token.to_owned(),
            _ => break,
        };
    }
    ensure!(
        right == work.objects,
        "scores nothing: {right} of {} objects have the right status",
        work.objects
    );
    Ok(())
}

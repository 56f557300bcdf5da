//! Server-side apply that changes nothing.

use std::time::Duration;

use super::{
    Bench, Case, ask, millis,
    servers::{self, CONNECTIONS, HTTP2, PEER, Servers, USUAL, WARM_UP, Way},
};
use crate::{
    contest::Sample,
    endpoint::Endpoint,
    load::{Load, scattered},
    requests::{self, Parts, Template},
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "apply",
    title: "server-side apply of Deployments that are as applied",
    what: "Applies one of 100 Deployments of about 4 KB as it is, in random order, over TLS and 32 connections, by HTTP/1.1 and by \
           HTTP/2. Every answer is a 200, and none changes an object: the version of the list stays.",
    run,
};

/// The number of Deployments.
const OBJECTS: u64 = 100;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("rate", "applied", "/s").better(12.0, PEER),
        Row::cost("p50", "median", "ms"),
        Row::cost("p99", "99 of 100 within", "ms"),
        Row::cost("processor", "server's processor time for one", "µs").at_most(100.0),
        Row::cost("single", "1 connection, median", "ms"),
    ];
    section
        .rows
        .extend(HTTP2.rows("applied", |row| row.better(12.0, PEER)));
    let time = Duration::from_millis(bench.size(2000, 800));
    let rounds = (Servers::Kept, bench.rounds(3));
    servers::contest(
        bench,
        section,
        rounds,
        async |server| {
            let endpoint = &server.endpoint;
            let namespace = servers::namespace(endpoint).await?;
            let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
            let mut request = applied(endpoint, USUAL, &path);
            for number in 0..OBJECTS {
                request.numbered(number);
                ask(endpoint, &request, 201).await?;
            }
            Ok(path)
        },
        async |endpoint, path| {
            let before = version(endpoint, path).await?;
            let load = |way: Way, connections, time| Load {
                endpoint,
                connections,
                request: applied(endpoint, way, path),
                status: 200,
                numbers: scattered(OBJECTS),
                warm_up: WARM_UP,
                time,
            };
            let mut sample = Sample::default();
            let many = load(USUAL, CONNECTIONS, time).run().await?;
            servers::note(&mut sample, &many);
            HTTP2.note(
                &mut sample,
                &load(HTTP2, CONNECTIONS, time / 2).run().await?,
            );
            let single = load(USUAL, 1, time / 2).run().await?;
            let half = millis(single.percentile(50));
            sample.figures.insert("single".to_owned(), half);
            let after = version(endpoint, path).await?;
            anyhow::ensure!(
                before == after,
                "scores nothing: an apply changed an object"
            );
            Ok(sample)
        },
    );
    Ok(())
}

/// Returns the request that applies the numbered Deployment.
fn applied(endpoint: &Endpoint, way: Way, path: &str) -> Template {
    let body = requests::deployment();
    let name = requests::deployment_hole();
    let target = format!("{path}/{name}?fieldManager=bench&force=true");
    let parts = Parts {
        protocol: way.protocol,
        content_type: "application/apply-patch+yaml",
        ..Parts::new("PATCH", &target, body.as_bytes())
    };
    Template::of(endpoint, parts)
}

/// Returns the versions of all Deployments, which change with any of them.
async fn version(endpoint: &Endpoint, path: &str) -> anyhow::Result<Vec<String>> {
    let list = ask(endpoint, &Template::new(endpoint, "GET", path, ""), 200).await?;
    let list: serde_json::Value = serde_json::from_str(&list)?;
    let items = list["items"].as_array().into_iter().flatten();
    let version = |item: &serde_json::Value| item["metadata"]["resourceVersion"].to_string();
    Ok(items.map(version).collect())
}

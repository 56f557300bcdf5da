//! Pages of 500 objects in each representation: the time of one page.

use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{
    Bench, Case, ask,
    forms::{FORMS, PROTOCOLS},
    list, millis,
    servers::{self, PEER, Servers},
};
use crate::{
    contest::Sample,
    endpoint::Endpoint,
    requests::{self, Template},
    results::{Section, median},
    rows::Row,
    wire::{Answer, Connection},
};

pub(crate) const CASE: Case = Case {
    name: "list-pages",
    title: "pages of 500 ConfigMaps in each representation",
    what: "GETs 8 successive pages of 500 ConfigMaps of about 1.5 KB over TLS on one connection, in each representation, by \
           HTTP/1.1 and by HTTP/2: the median of the time of one page.",
    run,
};

/// The number of objects of a page.
const PAGE: u64 = 500;
/// The number of pages.
const PAGES: usize = 8;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    for form in FORMS {
        for (_, key, label) in PROTOCOLS {
            let key = format!("{}{key}", form.key);
            let label = format!("{}{label}", form.label);
            let row = Row::cost(&key, &label, "ms").better(4.0, PEER);
            section.rows.push(row);
        }
    }
    let objects = (PAGES as u64 + 1) * PAGE;
    let rounds = (Servers::Kept, bench.rounds(3));
    servers::contest(
        bench,
        section,
        rounds,
        async |server| {
            let endpoint = &server.endpoint;
            let namespace = servers::namespace(endpoint).await?;
            servers::fill(endpoint, &namespace, objects, list::VALUE_BYTES).await?;
            Ok(requests::config_maps(&namespace))
        },
        async |endpoint, path| {
            let pages = pages(endpoint, path).await?;
            let mut sample = Sample::default();
            for form in FORMS {
                for (protocol, key, _) in PROTOCOLS {
                    let mut connection = Connection::open_with(endpoint, protocol).await?;
                    let mut answer = Answer::new();
                    let mut times = Vec::new();
                    for page in &pages {
                        let request = form.request(endpoint, protocol, page);
                        let began = Instant::now();
                        connection
                            .exchange(request.bytes(), &mut answer, |_| {})
                            .await?;
                        times.push(millis(began.elapsed()));
                        let (status, bytes) = (answer.status, answer.body_bytes);
                        ensure!(status == 200, "a page was answered {status}");
                        ensure!(
                            bytes > PAGE * 80,
                            "scores nothing: a page of {} has {bytes} bytes",
                            form.label
                        );
                    }
                    let key = format!("{}{key}", form.key);
                    let time = median(&times).unwrap_or(f64::NAN);
                    sample.figures.insert(key, time);
                }
            }
            Ok(sample)
        },
    );
    Ok(())
}

/// Returns the targets of successive pages. Their tokens do not depend on the representation.
async fn pages(endpoint: &Endpoint, path: &str) -> anyhow::Result<Vec<String>> {
    let mut pages = Vec::new();
    let mut target = format!("{path}?limit={PAGE}");
    while pages.len() < PAGES {
        let page = ask(endpoint, &Template::new(endpoint, "GET", &target, ""), 200).await?;
        let page: Value = serde_json::from_str(&page)?;
        let token = page["metadata"]["continue"].as_str();
        let token = token.context("scores nothing: there are too few pages")?;
        let token = token.replace('+', "%2B").replace('=', "%3D");
        pages.push(target);
        target = format!("{path}?limit={PAGE}&continue={token}");
    }
    Ok(pages)
}

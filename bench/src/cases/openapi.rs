//! The OpenAPI documents, built on the first request.

use std::time::Instant;

use super::{
    Bench, Case, ask, megabytes, millis,
    servers::{self, Servers},
};
use crate::{contest::Sample, proc, requests::Template, results::Section, rows::Row};

pub(crate) const CASE: Case = Case {
    name: "openapi",
    title: "documents built on the first request",
    what: "Asks a fresh server for the v3 document of `apps/v1`, then for the index, then for every v3 document and for v2 as \
           JSON. Memory is what resident memory grew by.",
    run,
};

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("document", "first v3 document", "ms").at_most(50.0),
        Row::cost("index", "first index after it", "ms"),
        Row::cost("memory", "memory of all documents", "MB").at_most(15.0),
    ];
    let rounds = (Servers::Fresh, bench.rounds(3));
    servers::contest(
        bench,
        section,
        rounds,
        async |_| Ok(()),
        async |endpoint, ()| {
            let before = proc::resident(&endpoint.pids)?;
            let took = async |path: &str| {
                let began = Instant::now();
                let request = Template::new(endpoint, "GET", path, "");
                let body = ask(endpoint, &request, 200).await?;
                anyhow::Ok((millis(began.elapsed()), body))
            };
            let (document, _) = took("/openapi/v3/apis/apps/v1").await?;
            let (index, body) = took("/openapi/v3").await?;
            let links = body.split('"');
            for path in links.filter(|text| text.starts_with("/openapi/v3/")) {
                took(&path.replace("\\u0026", "&")).await?;
            }
            took("/openapi/v2").await?;
            let more = proc::resident(&endpoint.pids)?.saturating_sub(before);
            let figures = [
                ("document", document),
                ("index", index),
                ("memory", megabytes(more)),
            ];
            let figures = figures.map(|(key, figure)| (key.to_owned(), figure));
            Ok(Sample {
                figures: figures.into(),
                ..Sample::default()
            })
        },
    );
    Ok(())
}

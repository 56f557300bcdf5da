//! One LIST in each representation: rate, time to the first byte, and the memory of the server.

use std::time::{Duration, Instant};

use anyhow::ensure;

use super::{
    Bench, Case,
    forms::{FORMS, Form, PROTOCOLS},
    list, megabytes, millis,
    servers::{self, Servers},
};
use crate::{
    contest::Sample,
    endpoint::Endpoint,
    proc, requests,
    results::{Section, median},
    rows::Row,
    wire::{Answer, Connection, Protocol},
};

pub(crate) const CASE: Case = Case {
    name: "list-forms",
    title: "49 MB of ConfigMaps in each representation",
    what: "GETs 32,600 ConfigMaps of about 1.5 KB in one answer over TLS in each representation, by HTTP/1.1 and by HTTP/2, up to 3 \
           times a round. Rates count the bytes of the body in that representation. The first byte is that of the body. Extra \
           memory is the peak of resident memory during the first request less the resident memory before it.",
    run,
};

/// The number of requests, unless they take longer than [`ENOUGH`].
const REPEATS: usize = 3;
const ENOUGH: Duration = Duration::from_secs(3);

/// The measurements of one request.
struct Listed {
    first: Duration,
    all: Duration,
    bytes: u64,
}

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    for form in FORMS {
        for (_, key, label) in PROTOCOLS {
            let of = |what: &str, text: &str| {
                (
                    format!("{}_{what}{key}", form.key),
                    format!("{}{label}: {text}", form.label),
                )
            };
            let (rate, label) = of("rate", "received");
            section
                .rows
                .push(form.targets(Row::rate(&rate, &label, "MB/s")));
            let (first, label) = of("first", "first byte");
            section
                .rows
                .push(Row::cost(&first, &label, "ms").at_most(20.0));
            let (extra, label) = of("extra", "extra memory");
            section
                .rows
                .push(Row::cost(&extra, &label, "MB").at_most(1.0));
        }
    }
    let objects = bench.size(32_600, 2000);
    let rounds = (Servers::Kept, bench.rounds(3));
    servers::contest(
        bench,
        section,
        rounds,
        async |server| {
            let endpoint = &server.endpoint;
            let namespace = servers::namespace(endpoint).await?;
            servers::fill(endpoint, &namespace, objects, list::VALUE_BYTES).await?;
            let path = requests::config_maps(&namespace);
            servers::check_count(endpoint, &path, objects).await?;
            Ok(path)
        },
        async |endpoint, path| {
            let mut sample = Sample::default();
            for form in FORMS {
                for (protocol, key, _) in PROTOCOLS {
                    let figures = turn(endpoint, form, protocol, path, objects).await?;
                    for (what, figure) in figures {
                        let key = format!("{}_{what}{key}", form.key);
                        sample.figures.insert(key, figure);
                    }
                }
            }
            Ok(sample)
        },
    );
    Ok(())
}

async fn turn(
    endpoint: &Endpoint,
    form: Form,
    protocol: Protocol,
    path: &str,
    objects: u64,
) -> anyhow::Result<[(&'static str, f64); 3]> {
    let request = form.request(endpoint, protocol, path);
    let mut connection = Connection::open_with(endpoint, protocol).await?;
    let before = proc::resident(&endpoint.pids)?;
    proc::forget_peak(&endpoint.pids)?;
    let (mut rates, mut firsts) = (Vec::new(), Vec::new());
    let mut extra = 0;
    let began = Instant::now();
    while rates.len() < REPEATS && (rates.is_empty() || began.elapsed() < ENOUGH) {
        let listed = one(&mut connection, request.bytes()).await?;
        // Every representation of an object has a name and a uid.
        ensure!(
            listed.bytes > objects * 80,
            "scores nothing: {} has {} bytes for {objects} objects",
            form.label,
            listed.bytes
        );
        if rates.is_empty() {
            extra = proc::peak(&endpoint.pids)?.saturating_sub(before);
        }
        rates.push(megabytes(listed.bytes) / listed.all.as_secs_f64());
        firsts.push(millis(listed.first));
    }
    Ok([
        ("rate", median(&rates).unwrap_or(f64::NAN)),
        ("first", median(&firsts).unwrap_or(f64::NAN)),
        ("extra", megabytes(extra)),
    ])
}

async fn one(connection: &mut Connection, request: &[u8]) -> anyhow::Result<Listed> {
    let mut answer = Answer::new();
    let began = Instant::now();
    let mut first = None;
    connection
        .exchange(request, &mut answer, |_| {
            first.get_or_insert_with(|| began.elapsed());
        })
        .await?;
    ensure!(
        answer.status == 200,
        "a LIST was answered {}",
        answer.status
    );
    Ok(Listed {
        first: first.unwrap_or_default(),
        all: began.elapsed(),
        bytes: answer.body_bytes,
    })
}

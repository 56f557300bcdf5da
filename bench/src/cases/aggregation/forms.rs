//! JSON and protobuf of a typed kind.

use std::{hint::black_box, time::Duration};

use anyhow::{Context, anyhow, ensure};
use kubewright_schema::{decode_untyped, parse_json};

use crate::{
    cases::{ask, widgets},
    endpoint::Endpoint,
    proc,
    requests::{PROTOBUF, Parts, Template},
    roles::aggregation,
    wire::{Answer, Connection},
};

/// The number of times that an object is decoded.
const TIMES: u32 = 5000;

/// Returns how many times smaller, and faster to decode, a widget is in protobuf.
pub(super) async fn compared(endpoint: &Endpoint, path: &str) -> anyhow::Result<(f64, f64)> {
    let version = format!("{}/v1", aggregation::TYPED);
    let body = widgets::object_of(&version, "Widget", "compared");
    ask(endpoint, &Template::new(endpoint, "POST", path, &body), 201).await?;
    let one = format!("{path}/compared");
    let json = ask(endpoint, &Template::new(endpoint, "GET", &one, ""), 200).await?;
    let parts = Parts {
        accept: PROTOBUF,
        ..Parts::new("GET", &one, b"")
    };
    let mut connection = Connection::open(endpoint).await?;
    let (mut answer, mut bytes) = (Answer::new(), Vec::new());
    let request = Template::of(endpoint, parts);
    let receive = |data: &[u8]| bytes.extend_from_slice(data);
    connection
        .exchange(request.bytes(), &mut answer, receive)
        .await?;
    ensure!(
        answer.status == 200,
        "protobuf is answered {}",
        answer.status
    );

    let kind = aggregation::widgets().protobuf_type("v1")?;
    let kind = kind.context("widgets have a protobuf form")?;
    let decoded = kind.decode(&bytes)?.value;
    ensure!(
        decoded == serde_json::from_str::<serde_json::Value>(&json)?,
        "scores nothing: protobuf and JSON differ"
    );
    let in_json = each(|| {
        let node = parse_json(json.as_bytes()).map_err(|e| anyhow!("{e}"))?;
        drop(black_box(decode_untyped(node)));
        Ok(())
    })?;
    let in_protobuf = each(|| {
        drop(black_box(kind.decode(&bytes)?));
        Ok(())
    })?;
    Ok((
        json.len() as f64 / bytes.len() as f64,
        in_json.as_secs_f64() / in_protobuf.as_secs_f64(),
    ))
}

/// Returns the processor time of all calls.
fn each(mut call: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let before = proc::thread_time()?;
    for _ in 0..TIMES {
        call()?;
    }
    Ok(proc::thread_time()? - before)
}

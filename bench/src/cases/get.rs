//! ConfigMaps, read one at a time.

use super::{CONNECTIONS, VALUE_BYTES, WARM_UP, fill, micros, millis};
use crate::{
    Settings,
    endpoint::Endpoint,
    load::{Load, scattered},
    report::{Measure, Report, Whose},
    requests::{self, Template},
};

const RATE: Measure = Measure::rate("get: 32 connections", "/s")
    .target(40_000.0)
    .reference(3450.0);
const P50: Measure = Measure::cost("get: 32 connections, p50", "ms");
const P99: Measure = Measure::cost("get: 32 connections, p99", "ms");
const PROCESSOR: Measure = Measure::cost("get: server's processor time", "us");
const SINGLE: Measure = Measure::cost("get: 1 connection, p50", "ms");

/// How many there are.
const OBJECTS: u64 = 1000;

/// The answer is how many were created.
pub(super) async fn run(
    settings: &Settings,
    endpoint: &Endpoint,
    namespace: &str,
    whose: Whose,
    report: &mut Report,
) -> anyhow::Result<u64> {
    fill(endpoint, namespace, 0..OBJECTS, VALUE_BYTES).await?;
    let path = format!("{}/{}", requests::config_maps(namespace), requests::hole());
    let load = |connections, time| Load {
        endpoint,
        connections,
        request: Template::new(endpoint, "GET", &path, ""),
        status: 200,
        numbers: scattered(OBJECTS),
        warm_up: WARM_UP,
        time,
    };
    let many = load(CONNECTIONS, settings.load_time).run().await?;
    report.add(&RATE, whose, many.rate());
    report.add(&P50, whose, millis(many.percentile(50)));
    report.add(&P99, whose, millis(many.percentile(99)));
    if let Some(time) = many.processor() {
        report.add(&PROCESSOR, whose, micros(time));
    }
    let single = load(1, settings.load_time / 2).run().await?;
    report.add(&SINGLE, whose, millis(single.percentile(50)));
    Ok(OBJECTS)
}

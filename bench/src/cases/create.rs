//! Small ConfigMaps, created as fast as they are taken.

use std::{cell::Cell, rc::Rc};

use super::{CONNECTIONS, VALUE_BYTES, WARM_UP, micros, millis};
use crate::{
    Settings,
    endpoint::Endpoint,
    load::Load,
    report::{Measure, Report, Whose},
    requests::{self, Template},
};

const RATE: Measure = Measure::rate("create: 32 connections", "/s")
    .target(15_000.0)
    .reference(2430.0);
const P50: Measure = Measure::cost("create: 32 connections, p50", "ms");
const P99: Measure = Measure::cost("create: 32 connections, p99", "ms");
const PROCESSOR: Measure = Measure::cost("create: server's processor time", "us");
const SINGLE: Measure = Measure::cost("create: 1 connection, p50", "ms").reference(1.1);

/// The answer is how many were created.
pub(super) async fn run(
    settings: &Settings,
    endpoint: &Endpoint,
    namespace: &str,
    whose: Whose,
    report: &mut Report,
) -> anyhow::Result<u64> {
    let path = requests::config_maps(namespace);
    let next = Rc::new(Cell::new(0));
    let load = |connections, time| {
        let next = next.clone();
        Load {
            endpoint,
            connections,
            request: Template::new(endpoint, "POST", &path, &requests::config_map(VALUE_BYTES)),
            status: 201,
            numbers: Rc::new(move || Some(next.replace(next.get() + 1))),
            warm_up: WARM_UP,
            time,
        }
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
    Ok(next.get())
}

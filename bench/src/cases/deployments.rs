//! Deployments of about 4 KB, created as fast as they are taken: defaults, validation and managed fields of a large kind.

use super::{CONNECTIONS, WARM_UP, micros, millis};
use crate::{
    Settings,
    endpoint::Endpoint,
    load::{Load, counting},
    report::{Measure, Report, Whose},
    requests::{self, Template},
};

const RATE: Measure = Measure::rate("deployments: 4 KB, 32 connections", "/s").target(5_000.0);
const P50: Measure = Measure::cost("deployments: 4 KB, p50", "ms");
const PROCESSOR: Measure = Measure::cost("deployments: server's processor time", "us");

/// What was created stays: it is not what the caller deletes.
pub(super) async fn run(
    settings: &Settings,
    endpoint: &Endpoint,
    namespace: &str,
    whose: Whose,
    report: &mut Report,
) -> anyhow::Result<u64> {
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
    let load = Load {
        endpoint,
        connections: CONNECTIONS,
        request: Template::new(endpoint, "POST", &path, &requests::deployment()),
        status: 201,
        numbers: counting(0, u64::MAX),
        warm_up: WARM_UP,
        time: settings.load_time,
    };
    let outcome = load.run().await?;
    report.add(&RATE, whose, outcome.rate());
    report.add(&P50, whose, millis(outcome.percentile(50)));
    if let Some(time) = outcome.processor() {
        report.add(&PROCESSOR, whose, micros(time));
    }
    Ok(0)
}

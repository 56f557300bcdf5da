//! The OpenAPI documents, made when they are first asked for.

use std::time::Instant;

use super::{ask, megabytes, millis};
use crate::{
    endpoint::Endpoint,
    proc,
    report::{Measure, Report, Whose},
    requests::Template,
};

const DOCUMENT: Measure = Measure::cost("openapi: first v3 document", "ms").target(50.0);
const INDEX: Measure = Measure::cost("openapi: first index after it", "ms");
const MEMORY: Measure = Measure::cost("openapi: memory of all documents", "MB").target(15.0);

/// Nothing is created.
pub(super) async fn run(
    endpoint: &Endpoint,
    whose: Whose,
    report: &mut Report,
) -> anyhow::Result<u64> {
    let before = endpoint.pid.map(proc::resident).transpose()?;
    let took = |path: String| async move {
        let began = Instant::now();
        let body = ask(endpoint, &Template::new(endpoint, "GET", &path, ""), 200).await?;
        anyhow::Ok((millis(began.elapsed()), body))
    };
    let (first, _) = took("/openapi/v3/apis/apps/v1".to_owned()).await?;
    report.add(&DOCUMENT, whose, first);
    let (index, body) = took("/openapi/v3".to_owned()).await?;
    report.add(&INDEX, whose, index);
    for path in body
        .split('"')
        .filter(|text| text.starts_with("/openapi/v3/"))
    {
        took(path.replace("\\u0026", "&")).await?;
    }
    took("/openapi/v2".to_owned()).await?;
    if let Some((pid, before)) = endpoint.pid.zip(before) {
        let after = proc::resident(pid)?;
        report.add(&MEMORY, whose, megabytes(after.saturating_sub(before)));
    }
    Ok(0)
}

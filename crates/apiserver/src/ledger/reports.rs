//! Runs and status that managers report.

use http::{Method, Request, Response};
use kubewright_ledger::ManagerReport;
use kubewright_machinery::{Status, status};
use serde_json::json;

use super::{Recorder, endpoints::json_response};
use crate::{body::Body, request::RequestInfo};

/// The path that reports are sent to.
const PATH: &str = "/kubewright/v1/runs";

/// The maximum size of a report.
const MAX_BYTES: usize = 4 << 20;

/// Reports whether a request is a report.
pub(crate) fn is_report(info: &RequestInfo) -> bool {
    info.path == PATH && info.method.eq_ignore_ascii_case(Method::POST.as_str())
}

/// Takes a report.
pub(super) async fn take(
    recorder: &Recorder,
    request: Request<Body>,
) -> Result<Response<Body>, Status> {
    let body = request.into_body().collect_up_to(MAX_BYTES).await;
    let body = body.map_err(|e| status::bad_request(format!("unable to read the body: {e}")))?;
    let body = body.ok_or_else(|| status::too_large("a report may have 4 MiB"))?;
    let report: ManagerReport = serde_json::from_slice(&body)
        .map_err(|e| status::bad_request(format!("the body is not a report: {e}")))?;
    if report.manager.is_empty() || report.manager.len() > 253 {
        return Err(status::bad_request(
            "a report needs the name of its manager",
        ));
    }
    recorder.ledger.report(report, recorder.clock.now());
    Ok(json_response(&json!({})))
}

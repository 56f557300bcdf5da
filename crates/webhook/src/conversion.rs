//! Conversion reviews.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{converter::Converter, metrics::Metrics};

/// The number of objects after which the task yields.
const TURN: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question<'a> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow, default)]
    request: Option<Request<'a>>,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(default)]
    uid: String,
    #[serde(rename = "desiredAPIVersion", default)]
    desired: String,
    #[serde(borrow, default)]
    objects: Vec<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    kind: &'a str,
    api_version: &'a str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    converted_objects: Vec<Value>,
    result: Outcome,
}

#[derive(Serialize)]
struct Outcome {
    metadata: Empty,
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
}

#[derive(Serialize)]
struct Empty {}

/// A conversion review that was processed.
pub(crate) struct Converted {
    /// The kind of the first object.
    pub(crate) kind: String,
    pub(crate) objects: usize,
    /// The requested version.
    pub(crate) desired: String,
    pub(crate) failure: Option<String>,
}

/// Processes a review: converts all objects, or reports an error. Returns `None` if the body is not a review.
pub(crate) async fn answer(
    body: &[u8],
    converter: &Converter,
    metrics: &Metrics,
) -> Option<(Bytes, Converted)> {
    let question: Question<'_> = serde_json::from_slice(body)
        .inspect_err(|error| tracing::error!(%error, "failed to read conversion request"))
        .ok()?;
    let Some(request) = question.request else {
        tracing::error!("conversion request is nil");
        return None;
    };
    let mut kind = String::new();
    let converted = convert(&request, converter, metrics, &mut kind).await;
    let (converted, status, message) = match converted {
        Ok(converted) => (converted, "Success", String::new()),
        Err(message) => {
            tracing::error!(error = message, request = request.uid, "failed to convert");
            (Vec::new(), "Failure", message)
        }
    };
    let summary = Converted {
        kind,
        objects: request.objects.len(),
        desired: request.desired.clone(),
        failure: (status == "Failure").then(|| message.clone()),
    };
    let answer = Answer {
        kind: &question.kind,
        api_version: &question.api_version,
        response: Response {
            uid: &request.uid,
            converted_objects: converted,
            result: Outcome {
                metadata: Empty {},
                status,
                message,
            },
        },
    };
    let mut body = serde_json::to_vec(&answer).ok()?;
    body.push(b'\n');
    Some((body.into(), summary))
}

async fn convert(
    request: &Request<'_>,
    converter: &Converter,
    metrics: &Metrics,
    kind: &mut String,
) -> Result<Vec<Value>, String> {
    let mut converted = Vec::with_capacity(request.objects.len());
    for (n, object) in request.objects.iter().enumerate() {
        if n % TURN == TURN - 1 {
            tokio::task::yield_now().await;
        }
        let object: Value = serde_json::from_str(object.get()).map_err(|e| e.to_string())?;
        if n == 0 {
            object["kind"].as_str().unwrap_or_default().clone_into(kind);
        }
        let convert = || converter.convert(&object, &request.desired);
        let Ok(object) = catch_unwind(AssertUnwindSafe(convert)) else {
            metrics.conversion_panicked();
            return Err("internal error occurred during conversion".to_owned());
        };
        converted.push(object.map_err(|e| e.to_string())?);
    }
    Ok(converted)
}

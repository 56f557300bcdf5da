//! Requests to the API server of the cluster, with a time limit and retries.

use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::Value;
use tokio::time::{sleep, timeout};

/// The time limit of a request, including retries.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The delay before the first retry. It grows by half with each retry.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const ATTEMPTS: u32 = 5;

/// Reads an object.
///
/// # Errors
///
/// Returns the reason if there is no successful response in time.
pub(super) async fn get(client: &Client, path: &str) -> Result<Value, String> {
    call(client, "GET", path, &Value::Null).await
}

/// Creates an object, and returns the response.
///
/// # Errors
///
/// Returns the reason if there is no successful response in time.
pub(super) async fn create(client: &Client, path: &str, object: &Value) -> Result<Value, String> {
    call(client, "POST", path, object).await
}

async fn call(client: &Client, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let attempts = async {
        let mut delay = FIRST_RETRY;
        for attempt in 1.. {
            let body = match body {
                Value::Null => Vec::new(),
                body => body.to_string().into_bytes(),
            };
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header("content-type", "application/json")
                .body(body)
                .map_err(|e| e.to_string())?;
            match client.request::<Value>(request).await {
                Ok(answer) => return Ok(answer),
                Err(error) if attempt < ATTEMPTS && is_transient(&error) => {
                    tracing::debug!(%error, path, "request to the API server failed; retrying");
                    sleep(delay).await;
                    delay = delay.mul_f64(1.5);
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("no attempt was made".to_owned())
    };
    match timeout(TIMEOUT, attempts).await {
        Ok(answer) => answer,
        Err(_) => Err("the API server did not answer in time".to_owned()),
    }
}

/// Returns whether another attempt may succeed.
fn is_transient(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        _ => true,
    }
}

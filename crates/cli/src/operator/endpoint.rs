//! The HTTP endpoints of an operator: readiness, status of controllers, reviews of webhooks, metrics.

use std::{collections::BTreeMap, io, time::Duration};

use kubewright_machinery::time::Time;
use serde::{Deserialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::project::session::Session;

/// The default address of operator metrics and debug endpoints.
const DEFAULT_ADDRESS: &str = "127.0.0.1:8080";

/// The time limit for a response.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum size of a response.
const LONGEST: u64 = 64 << 20;

/// The response of `/debug/controllers`, as far as it is used.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Controllers {
    pub(crate) leading: bool,
    pub(crate) controllers: Vec<ControllerStatus>,
}

/// The status of a controller.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ControllerStatus {
    pub(crate) name: String,
    pub(crate) sources: Vec<SourceStatus>,
    pub(crate) queued: usize,
    pub(crate) processing: usize,
    pub(crate) delayed: usize,
    pub(crate) workers: usize,
    pub(crate) runs: u64,
    pub(crate) failures: u64,
    pub(crate) keys: Vec<KeyStatus>,
    pub(crate) recent: Vec<RunStatus>,
}

/// A finished run of a key.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct RunStatus {
    pub(crate) number: u64,
    pub(crate) key: String,
    pub(crate) trigger: Option<Trigger>,
    pub(crate) result: String,
    pub(crate) failed: bool,
    pub(crate) end: String,
    pub(crate) duration_seconds: f64,
}

/// The status of a source.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SourceStatus {
    pub(crate) name: String,
    pub(crate) state: String,
    pub(crate) error: Option<String>,
}

/// The status of a key.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct KeyStatus {
    pub(crate) key: String,
    pub(crate) last_trigger: Option<Trigger>,
    pub(crate) pending_trigger: Option<Trigger>,
    pub(crate) last_result: Option<String>,
    pub(crate) last_end: Option<String>,
    pub(crate) duration_seconds: Option<f64>,
    pub(crate) running: bool,
    pub(crate) due_in_seconds: Option<f64>,
}

/// The response of `/debug/webhooks`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Reviews {
    /// The number of reviews since the start.
    pub(crate) reviews: u64,
    pub(crate) recent: Vec<ReviewStatus>,
}

/// A review that was answered.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ReviewStatus {
    pub(crate) number: u64,
    pub(crate) path: String,
    pub(crate) operation: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    pub(crate) dry_run: bool,
    pub(crate) allowed: bool,
    pub(crate) message: String,
    pub(crate) changes: usize,
    pub(crate) warnings: usize,
    /// The number of objects that were converted, and their version.
    pub(crate) converted: Option<(usize, String)>,
    pub(crate) duration_seconds: f64,
}

/// The cause of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Trigger {
    pub(crate) source: String,
    pub(crate) cause: String,
    pub(crate) at: String,
}

impl Trigger {
    /// Formats the trigger: `captains updated`.
    pub(crate) fn words(&self) -> String {
        match self.cause.as_str() {
            "requeue" => "requeue".to_owned(),
            "backoff" => "retry".to_owned(),
            cause => {
                let source = self.source.split('.').next().unwrap_or_default();
                format!("{source} {cause}")
            }
        }
    }
}

impl KeyStatus {
    /// Returns whether the last run failed.
    pub(crate) fn failed(&self) -> bool {
        let result = self.last_result.as_deref().unwrap_or_default();
        result.starts_with("error") || result.starts_with("terminal error")
    }

    /// Returns the time since which the key waits for a worker, in seconds since 1970, if it does.
    pub(crate) fn queued_since(&self) -> Option<f64> {
        let trigger = self.pending_trigger.as_ref()?;
        let is_delayed = self.due_in_seconds.is_some_and(|due| due > 0.0);
        if self.running || is_delayed {
            return None;
        }
        let at = Time::parse(&trigger.at).ok()?;
        Some(at.unix_seconds() as f64 + f64::from(at.subsec_nanos()) / 1e9)
    }
}

/// Returns the address of the operator: the given one, that of a running `kubewright dev`, or the default.
pub(crate) fn operator_address(given: Option<&str>) -> String {
    match given {
        Some(address) => address.to_owned(),
        None => {
            Session::find().map_or_else(|| DEFAULT_ADDRESS.to_owned(), |session| session.operator)
        }
    }
}

/// Fetches the status of the controllers.
pub(crate) async fn controllers(address: &str) -> io::Result<Controllers> {
    fetch(address, "/debug/controllers").await
}

/// Fetches the last reviews of the webhooks.
pub(crate) async fn reviews(address: &str) -> io::Result<Reviews> {
    fetch(address, "/debug/webhooks").await
}

async fn fetch<T: DeserializeOwned>(address: &str, path: &str) -> io::Result<T> {
    let (status, body) = get(address, path).await?;
    if status != 200 {
        return Err(io::Error::other(format!("status {status}")));
    }
    serde_json::from_str(&body).map_err(io::Error::other)
}

/// Sums the samples of a metric by the value of a label.
pub(crate) fn samples(text: &str, name: &str, label: &str) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let Some((labels, value)) = line
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('{'))
            .and_then(|rest| rest.rsplit_once("} "))
        else {
            continue;
        };
        let of = labels.split(',').find_map(|pair| {
            pair.strip_prefix(label)?
                .strip_prefix("=\"")?
                .strip_suffix('"')
        });
        if let (Some(of), Ok(value)) = (of, value.trim().parse::<f64>()) {
            *all.entry(of.to_owned()).or_default() += value;
        }
    }
    all
}

/// Fetches a page and returns its status and body.
pub(crate) async fn get(address: &str, path: &str) -> io::Result<(u16, String)> {
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(LONGEST).read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let broken = || io::Error::other("not an HTTP response");
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(broken)?;
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Ok((status.ok_or_else(broken)?, body.to_owned()))
    };
    tokio::time::timeout(TIMEOUT, asked)
        .await
        .map_err(|_| io::Error::other("no response within 5 s"))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_summed_up_by_a_label() {
        let text = "# HELP x y\nx_total{controller=\"a\",result=\"error\"} 2\nx_total{controller=\"a\",result=\"success\"} 3\nx_total{controller=\"b\",result=\"success\"} 1\nx_total_more{controller=\"a\"} 9\n";
        let all = samples(text, "x_total", "controller");
        assert_eq!(all["a"], 5.0);
        assert_eq!(all["b"], 1.0);
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn only_keys_that_could_run_are_waiting() {
        let mut key = KeyStatus {
            pending_trigger: Some(Trigger {
                at: "1970-01-01T00:01:40.5Z".to_owned(),
                ..Trigger::default()
            }),
            ..KeyStatus::default()
        };
        assert_eq!(key.queued_since(), Some(100.5));
        key.due_in_seconds = Some(3.0);
        assert_eq!(key.queued_since(), None);
        key.due_in_seconds = None;
        key.running = true;
        assert_eq!(key.queued_since(), None);
        assert_eq!(KeyStatus::default().queued_since(), None);
    }

    #[test]
    fn the_status_of_a_controller_is_read() {
        let text = r#"{"leading":true,"caches":[],"controllers":[{"name":"captain","sources":[],"queued":1,
            "processing":0,"delayed":2,"workers":1,"keys":[{"key":"default/a","running":false,
            "lastResult":"error: no","durationSeconds":0.5,"dueInSeconds":3.0,
            "lastTrigger":{"source":"captains.crew.example.com","cause":"updated","at":"2026-01-01T00:00:00Z"}}]}]}"#;
        let all: Controllers = serde_json::from_str(text).unwrap();
        let key = &all.controllers[0].keys[0];
        assert!(key.failed());
        assert_eq!(
            key.last_trigger.as_ref().unwrap().words(),
            "captains updated"
        );
    }
}

//! Metrics of the server and of the operator, reduced for plots.
//!
//! | file | contents |
//! |---|---|
//! | `text` | Prometheus' text format |
//! | `lines` | the lines of plots: sums, rates, quantiles |
//! | `kept` | the values of the last hour |

mod kept;
mod lines;
mod text;

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use http::{Request, StatusCode};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, MissedTickBehavior},
};

use crate::{answer, forward, operator::LocalOperator};
use kept::Kept;
use lines::{Reading, Section};

/// The maximum size of the server's response, in bytes.
const LARGEST: usize = 16 << 20;

/// The interval of samples.
const EVERY: Duration = Duration::from_secs(1);

/// The time within which the first sample is expected.
const PATIENCE: Duration = Duration::from_secs(10);

type Failed = (StatusCode, String);

/// The metrics of the server and the operator, sampled each second from the first time on that a page is opened.
pub(crate) struct Sampler {
    sources: Sources,
    kept: Arc<Mutex<Kept>>,
    /// The outcome of the last attempt, if there was one.
    outcome: watch::Sender<Option<Result<(), Failed>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone)]
struct Sources {
    client: kube::Client,
    operator: Option<Arc<dyn LocalOperator>>,
}

impl Sampler {
    pub(crate) fn new(client: kube::Client, operator: Option<Arc<dyn LocalOperator>>) -> Self {
        Self {
            sources: Sources { client, operator },
            kept: Arc::default(),
            outcome: watch::Sender::new(None),
            task: Mutex::default(),
        }
    }

    /// Starts sampling, unless it has started.
    pub(crate) fn start(&self) {
        let mut task = self.task.lock();
        if task.is_some() {
            return;
        }
        let (sources, kept, outcome) = (
            self.sources.clone(),
            self.kept.clone(),
            self.outcome.clone(),
        );
        *task = Some(tokio::spawn(async move {
            let mut ticks = tokio::time::interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut before: Option<(Instant, Reading)> = None;
            loop {
                ticks.tick().await;
                let now = Instant::now();
                // Without metrics there is no history.
                let read = sources.read().await;
                outcome.send_replace(Some(match read {
                    Ok(reading) => {
                        let last = before.as_ref();
                        let last = last.map(|(at, last)| (last, (now - *at).as_secs_f64()));
                        kept.lock().add(seconds(), &reading.since(last));
                        before = Some((now, reading));
                        Ok(())
                    }
                    Err(error) => Err(error),
                }));
            }
        }));
    }

    /// Returns the newest values.
    pub(crate) async fn newest(&self) -> Result<Value, Failed> {
        self.start();
        let mut outcome = self.outcome.subscribe();
        let tried = tokio::time::timeout(PATIENCE, outcome.wait_for(Option::is_some)).await;
        if let Ok(Ok(tried)) = tried
            && let Some(Err(error)) = &*tried
        {
            return Err(error.clone());
        }
        let newest = self.kept.lock().newest();
        newest.ok_or_else(|| {
            let message = "the server has not answered with its metrics yet".to_owned();
            (StatusCode::GATEWAY_TIMEOUT, message)
        })
    }

    /// Returns the values of the last hour.
    pub(crate) fn history(&self) -> Value {
        self.kept.lock().history()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().take() {
            task.abort();
        }
    }
}

impl Sources {
    /// Reads the metrics. It is an error only if there are none at all.
    async fn read(&self) -> Result<Reading, Failed> {
        let mut reading = Reading::default();
        let of_operator = match &self.operator {
            Some(operator) => operator.metrics().await,
            None => None,
        };
        if let Some(text) = &of_operator {
            reading.add(text, &Section::Operator);
        }
        match of_server(&self.client).await {
            Ok(text) => reading.add(&text, &Section::Server),
            Err(_) if of_operator.is_some() => {}
            Err(error) => return Err(error),
        }
        Ok(reading)
    }
}

fn seconds() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0.0, |since| since.as_secs_f64())
}

/// Returns the metrics of the server.
async fn of_server(client: &kube::Client) -> Result<String, Failed> {
    let failed = |message: String| (StatusCode::BAD_GATEWAY, message);
    let request = Request::get("/metrics")
        .header("accept", "application/json, */*")
        .body(());
    let request = request.map_err(|e| failed(e.to_string()))?;
    let response = forward::forward(client, request.into_parts().0, bytes::Bytes::new()).await;
    let code = response.status();
    let read = answer::read(response.into_body(), LARGEST).await;
    let read = read.map_err(|e| failed(e.to_string()))?;
    let text = String::from_utf8_lossy(&read).into_owned();
    match code.is_success() {
        true => Ok(text),
        false => Err((code, text)),
    }
}

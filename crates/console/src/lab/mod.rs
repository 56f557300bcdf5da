//! The lab: faults, the clock and forks of a cluster in this process, for the page `/lab`.
//!
//! | module | contents |
//! |---|---|
//! | `action` | the actions of the page, as JSON |
//! | `compare` | the differences between a cluster and its fork |

mod action;
mod compare;

use std::net::{Ipv4Addr, SocketAddr};

use http::StatusCode;
use jiff::SignedDuration;
use kubewright_cluster::{Cluster, Lab};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::Console;
use action::Action;

/// The maximum number of forks.
const FORKS: usize = 4;

/// The longest time by which the clock is advanced at once: a century.
const LONGEST: f64 = 100.0 * 365.0 * 86400.0;

/// The difference between the clocks of the cluster and of the machine that counts as an experiment.
const NOTABLE: SignedDuration = SignedDuration::from_secs(1);

/// A lab, and the forks that were started on its page.
pub(crate) struct Laboratory {
    lab: Lab,
    title: String,
    forks: Mutex<Forks>,
}

#[derive(Default)]
struct Forks {
    all: Vec<Fork>,
    /// The number of the newest fork.
    last: u64,
}

/// A fork with its own console. Dropping it stops both.
struct Fork {
    number: u64,
    console: Console,
    cluster: Cluster,
    since: jiff::Timestamp,
}

type Failed = (StatusCode, String);

impl Laboratory {
    pub(crate) fn new(lab: Lab, title: &str) -> Self {
        Self {
            lab,
            title: title.to_owned(),
            forks: Mutex::default(),
        }
    }

    /// Describes the experiments.
    pub(crate) async fn state(&self) -> Value {
        let (faults, clock) = (self.lab.faults(), self.lab.clock());
        let (rate, offset) = (clock.rate(), clock.offset());
        let planned = faults.planned();
        let is_active =
            faults.is_down() || !planned.is_empty() || rate != 1.0 || offset.abs() > NOTABLE;
        let forks = self.forks.lock().await;
        let fork = |fork: &Fork| json!({"number": fork.number, "url": fork.console.url(), "since": fork.since.to_string()});
        json!({
            "active": is_active,
            "faults": planned.iter().map(action::described).collect::<Vec<_>>(),
            "down": faults.is_down(),
            "rate": rate,
            "offsetSeconds": offset.as_secs_f64().round(),
            "inMemory": self.lab.is_in_memory(),
            "forks": forks.all.iter().map(fork).collect::<Vec<_>>(),
        })
    }

    /// Performs an action, and describes the experiments then.
    pub(crate) async fn act(&self, body: &[u8]) -> Result<Value, Failed> {
        let refused = |message: String| (StatusCode::BAD_REQUEST, message);
        let asked: Action = serde_json::from_slice(body).map_err(|e| refused(e.to_string()))?;
        let (faults, clock) = (self.lab.faults(), self.lab.clock());
        match asked {
            Action::Inject { fault, on, times } => {
                let on = on.select().map_err(refused)?;
                faults.inject(fault.fault(), on, times.clamp(1, 1_000_000));
            }
            Action::Remove { id } => drop(faults.remove(id)),
            Action::Clear => faults.clear(),
            Action::Down => faults.go_down(),
            Action::Up => faults.come_back(),
            Action::CloseWatches => faults.close_watches(),
            Action::Advance { seconds } => {
                let by = SignedDuration::try_from_secs_f64(seconds.clamp(0.0, LONGEST));
                clock.advance(by.map_err(|e| refused(e.to_string()))?);
            }
            Action::Rate { rate } => clock.set_rate(rate),
            Action::Compact => {
                self.lab.compact_now().ok_or_else(not_in_memory)?;
            }
            Action::Fork => self.fork().await?,
            Action::Drop { number } => {
                let mut forks = self.forks.lock().await;
                forks.all.retain(|fork| fork.number != number);
            }
        }
        Ok(self.state().await)
    }

    async fn fork(&self) -> Result<(), Failed> {
        let mut forks = self.forks.lock().await;
        if forks.all.len() >= FORKS {
            let message = format!("there are {FORKS} forks already: drop one");
            return Err((StatusCode::CONFLICT, message));
        }
        let failed = |error: String| (StatusCode::INTERNAL_SERVER_ERROR, error);
        let cluster = self.lab.fork().await;
        let cluster = cluster.map_err(|e| failed(e.to_string()))?;
        let cluster = cluster.ok_or_else(not_in_memory)?;
        let number = forks.last + 1;
        let console = Console::builder(cluster.client())
            .title(format!("{}, fork {number}", self.title))
            .local();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        // Boxed, since the console of a fork is made of the same types.
        let console = Box::pin(console.start(any)).await;
        forks.last = number;
        forks.all.push(Fork {
            number,
            console: console.map_err(|e| failed(e.to_string()))?,
            cluster,
            since: jiff::Timestamp::now(),
        });
        Ok(())
    }

    /// Returns the differences between the cluster and a fork. The query has its `number`.
    pub(crate) async fn compare(
        &self,
        client: &kube::Client,
        query: &str,
    ) -> Result<Value, Failed> {
        let number = query.strip_prefix("number=").and_then(|it| it.parse().ok());
        let forks = self.forks.lock().await;
        let mut all = forks.all.iter();
        let fork = all.find(|fork| Some(fork.number) == number);
        let fork =
            fork.ok_or_else(|| (StatusCode::NOT_FOUND, "there is no such fork".to_owned()))?;
        let theirs = fork.cluster.client();
        drop(forks);
        compare::compare(client, &theirs).await
    }
}

fn not_in_memory() -> Failed {
    let message = "the objects of this cluster are not in memory".to_owned();
    (StatusCode::CONFLICT, message)
}

//! `job-controller`: runs pods until enough of them have succeeded, and counts each that has ended once.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass: claims pods, decides about the end, creates or deletes pods, writes the status |
//! | `pass` | the state of a pass: counts, and whether the Job has ended |
//! | `policy` | which failures count, and which successes suffice |
//! | `backoff` | the delay of replacements |
//! | `indexes`, `indexed` | completion indexes, and the pods of indexed Jobs |
//! | `manage` | creation and deletion of pods |
//! | `track` | the count of pods that have ended |
//! | `orphans` | finalizers of pods that no Job counts any more |

mod backoff;
mod indexed;
mod indexes;
mod manage;
mod orphans;
mod pass;
mod policy;
mod sync;
mod track;

use std::{collections::HashMap, time::Duration};

use kubewright_controller::{
    Context, Controller, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_machinery::labels::LabelSelector;
use kubewright_workqueue::ItemExponentialFailureRateLimiter;
use parking_lot::Mutex;

use self::backoff::Backoff;
use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        WORKERS,
        objects::{Job, Pod},
        pods,
    },
};

/// The finalizer of pods that are not counted yet.
const FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// The memory of the controller.
struct Jobs {
    recorder: Recorder,
    /// The failures of Jobs since their last successes.
    backoffs: Mutex<HashMap<Request, Backoff>>,
}

impl Jobs {
    fn backoff(&self, job: &Request) -> Backoff {
        self.backoffs.lock().get(job).copied().unwrap_or_default()
    }

    fn set_backoff(&self, job: &Request, backoff: Backoff) {
        let mut backoffs = self.backoffs.lock();
        match backoff == Backoff::default() {
            true => drop(backoffs.remove(job)),
            false => drop(backoffs.insert(job.clone(), backoff)),
        }
    }

    fn forget(&self, job: &Request) {
        self.backoffs.lock().remove(job);
    }
}

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    pods::add_index::<Pod>(manager);
    let children = pods::events_of_children::<Job>(manager, |job| {
        LabelSelector::from_label_selector(&job.spec.selector).ok()
    });
    let jobs = Jobs {
        recorder: manager.recorder(Name::Job.as_str()),
        backoffs: Mutex::default(),
    };
    Controller::builder()
        .named(Name::Job.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<Job>(pods::events_of_objects()))
        .watch(Watch::of::<Pod>(children))
        .rate_limiter(limiter())
        .state(jobs)
        .build(
            manager,
            |context: Context<(), Jobs>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    orphans::add_to(manager)
}

/// Returns the delays after failed writes.
fn limiter() -> ItemExponentialFailureRateLimiter<Request> {
    ItemExponentialFailureRateLimiter::new(Duration::from_secs(1), Duration::from_secs(60))
}

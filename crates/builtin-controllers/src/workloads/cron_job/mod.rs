//! `cronjob-controller`: creates Jobs at the times of a schedule, and deletes old ones.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass: notes finished Jobs, deletes old ones, starts the one that is due |
//! | `start` | the Job of a time |
//! | `timetable` | the times of a schedule |

mod start;
mod sync;
mod timetable;

use std::{collections::HashSet, sync::Arc};

use kubewright_controller::{
    AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_informer::Event;
use parking_lot::Mutex;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        WORKERS,
        objects::{CronJob, Job},
        pods,
    },
};

/// The memory of the controller.
struct CronJobs {
    recorder: Recorder,
    /// The CronJobs whose schedules have changed: nothing starts at times of the past.
    changed: Arc<Mutex<HashSet<Request>>>,
}

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    pods::add_index::<Job>(manager);
    let changed = Arc::<Mutex<HashSet<Request>>>::default();
    let state = CronJobs {
        recorder: manager.recorder(Name::CronJob.as_str()),
        changed: changed.clone(),
    };
    let own = move |event: &AnyEvent| {
        let request = Request::from(&**event.object());
        if let Event::Updated { old, object, .. } = event {
            if old.is_same_version(object) {
                return Vec::new();
            }
            let (old, new) = (
                old.clone().cast::<CronJob>(),
                object.clone().cast::<CronJob>(),
            );
            if let (Ok(old), Ok(new)) = (old.get(), new.get())
                && (&old.spec.schedule, &old.spec.time_zone)
                    != (&new.spec.schedule, &new.spec.time_zone)
            {
                changed.lock().insert(request.clone());
            }
        }
        vec![request]
    };
    Controller::builder()
        .named(Name::CronJob.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<CronJob>(Handler::events(own)))
        .watch(Watch::of::<Job>(pods::events_of_controlled::<CronJob>()))
        .state(state)
        .build(
            manager,
            |context: Context<(), CronJobs>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    Ok(())
}

//! Commits groups of writes: a group becomes a frame, is made durable, and is published.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use kubewright_store::Revision;

use super::{Accepting, Engine, Group, InFlight, Pending};
use crate::{
    format::frame::{HEADER, SEAL},
    log::{AppendError, NewFrame},
    options::SyncMode,
};

/// The idle time after which the log is sealed.
const SEAL_AFTER: Duration = Duration::from_secs(1);
/// The time within which writes become durable in the mode `process`.
const SYNC_WITHIN: Duration = Duration::from_millis(100);
/// The duration of a sync that causes a warning.
const SLOW: Duration = Duration::from_secs(1);

/// The result of one turn of the log thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A group was written, or there was no work.
    Done,
    /// The store is closed, and all writes are on disk.
    Closed,
}

impl Engine {
    /// Writes the open group. Returns whether there was one.
    pub(crate) fn commit(&self) -> bool {
        let mut pending = self.pending.lock();
        let taken = pending.take();
        drop(pending);
        match taken {
            None => false,
            Some(taken) => {
                self.room.notify_waiters();
                self.write(taken);
                true
            }
        }
    }

    /// Waits for work and performs it: one turn of the log thread.
    pub(crate) fn step(&self) -> Step {
        let mut pending = self.pending.lock();
        while pending.open.is_empty() {
            if pending.closing {
                let failed = pending.is_failed();
                if !failed {
                    pending.state = Accepting::Closed;
                }
                drop(pending);
                if !failed {
                    self.seal();
                }
                return Step::Closed;
            }
            let idle = self.idle_work();
            let timed_out = match idle {
                Some((after, _)) => self.work.wait_for(&mut pending, after).timed_out(),
                None => {
                    self.work.wait(&mut pending);
                    false
                }
            };
            if timed_out && pending.open.is_empty() {
                drop(pending);
                match idle {
                    Some((_, Idle::Sync)) => self.sync_late(),
                    _ => self.seal(),
                }
                return Step::Done;
            }
        }
        drop(pending);
        self.commit();
        if self.options.sync == SyncMode::Process && self.counters.since_sync() >= SYNC_WITHIN {
            self.sync_late();
        }
        Step::Done
    }

    /// Writes a seal, unless the log already ends with one.
    pub(crate) fn seal(&self) {
        if self.pending.lock().is_failed() {
            return;
        }
        let mut writer = self.writer.lock();
        if writer.sealed && writer.is_synced() {
            return;
        }
        let frame = NewFrame {
            bytes: vec![0; HEADER],
            records: 0,
            flags: SEAL,
            last_revision: writer.place.revision,
            time: self.wall.now().wall,
        };
        // A seal states that everything before it is durable.
        let synced = match writer.is_synced() {
            true => Ok(()),
            false => writer.sync(),
        };
        let sealed = synced.map_err(AppendError::Failed).and_then(|()| {
            writer.append(frame)?;
            writer.sync().map_err(AppendError::Failed)
        });
        drop(writer);
        match sealed {
            // A log is complete without a seal.
            Ok(()) | Err(AppendError::NoSpace(_)) => {}
            Err(AppendError::Failed(error)) => self.fail(&error),
        }
    }

    /// Syncs written frames in the mode `process`.
    pub(crate) fn sync_late(&self) {
        let mut writer = self.writer.lock();
        if writer.is_synced() {
            return;
        }
        let began = Instant::now();
        let synced = writer.sync();
        drop(writer);
        self.counters.synced(began.elapsed());
        if let Err(error) = synced {
            self.fail(&error);
        }
    }

    /// Checks again whether there is space for growing writes.
    pub(crate) fn check_space(&self) {
        let has_room = self.spares.is_ready() || self.writer.lock().has_reserve();
        let full = match has_room {
            true => None,
            false => Some(self.full_message(self.spares.failure())),
        };
        let mut pending = self.pending.lock();
        if pending.full != full {
            match &full {
                Some(why) => tracing::error!("{why}"),
                None => tracing::info!("the store's disk has space again"),
            }
            pending.full = full;
        }
    }

    fn write(&self, taken: InFlight) {
        let InFlight { group, unpublished } = taken;
        let last_revision = unpublished.revision();
        if planted!(EarlyAnswer) {
            unpublished.publish();
            group.outcome.finish(Ok(()));
            let outcome = Arc::clone(&group.outcome);
            if let Err(error) = self.append(group, last_revision) {
                self.undo(error, &outcome);
            }
            return;
        }
        let outcome = Arc::clone(&group.outcome);
        if planted!(EarlyPublish) {
            unpublished.publish();
            match self.append(group, last_revision) {
                Ok(()) => self.finish(&outcome),
                Err(error) => self.undo(error, &outcome),
            }
            return;
        }
        match self.append(group, last_revision) {
            Ok(()) => {
                unpublished.publish();
                self.finish(&outcome);
            }
            Err(error) => self.undo(error, &outcome),
        }
    }

    fn finish(&self, outcome: &super::Outcome) {
        self.pending.lock().in_flight = None;
        outcome.finish(Ok(()));
    }

    /// Writes a frame, and makes it durable unless the mode allows a delay.
    fn append(&self, group: Group, last_revision: Revision) -> Result<(), AppendError> {
        let mut writer = self.writer.lock();
        let bytes = group.bytes.len() as u64;
        let segment = writer.sequence();
        writer.append(NewFrame {
            bytes: group.bytes,
            records: group.records,
            flags: 0,
            last_revision,
            time: self.wall.now().wall,
        })?;
        self.counters.written(bytes, group.records);
        if writer.sequence() != segment {
            self.alarm.ring();
        }
        if self.options.sync == SyncMode::Process {
            return Ok(());
        }
        let began = Instant::now();
        if let Some(extra) = self.options.added_sync_latency {
            std::thread::sleep(extra);
        }
        let synced = writer.sync().map_err(AppendError::Failed);
        let took = began.elapsed();
        self.counters.synced(took);
        if took >= SLOW {
            let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(milliseconds, "the store's disk is slow: a sync took long");
        }
        synced
    }

    /// Discards everything that is not published.
    fn undo(&self, error: AppendError, outcome: &super::Outcome) {
        let (why, fatal) = match &error {
            AppendError::NoSpace(error) => (self.full_message(Some(error.to_string())), false),
            AppendError::Failed(error) => (failure_message(error), true),
        };
        let why: Arc<str> = why.into();
        let mut pending = self.pending.lock();
        if fatal {
            tracing::error!("{why}");
            pending.state = Accepting::Failed(Arc::clone(&why));
        } else {
            pending.full = Some(why.to_string());
        }
        let behind = pending.drop_unpublished();
        drop(pending);
        self.room.notify_waiters();
        outcome.finish(Err(Arc::clone(&why)));
        behind.finish(Err(why));
    }

    /// Stops accepting writes after a disk failure.
    fn fail(&self, error: &io::Error) {
        let why: Arc<str> = failure_message(error).into();
        tracing::error!("{why}");
        let mut pending = self.pending.lock();
        pending.state = Accepting::Failed(Arc::clone(&why));
        let behind = pending.drop_unpublished();
        drop(pending);
        self.room.notify_waiters();
        behind.finish(Err(why));
    }

    fn full_message(&self, reason: Option<String>) -> String {
        let place = &self.name;
        let free = match self.disk.free_space() {
            Some(free) => format!("{place} has {free} B free"),
            None => format!("{place} has no space left"),
        };
        let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        format!(
            "the store's disk is full: {free}{reason}; deletes still work, see \"kubewright store status\""
        )
    }

    /// Returns the work to do if no write arrives, and the delay before it.
    fn idle_work(&self) -> Option<(Duration, Idle)> {
        let writer = self.writer.lock();
        if !writer.is_synced() {
            return Some((SYNC_WITHIN, Idle::Sync));
        }
        (!writer.sealed).then_some((SEAL_AFTER, Idle::Seal))
    }
}

/// Work of the log thread while no write arrives.
#[derive(Clone, Copy)]
enum Idle {
    Sync,
    Seal,
}

impl Pending {
    fn is_failed(&self) -> bool {
        matches!(self.state, Accepting::Failed(_))
    }

    /// Takes the open group.
    fn take(&mut self) -> Option<InFlight> {
        if self.open.is_empty() {
            return None;
        }
        let group = std::mem::replace(&mut self.open, Group::new());
        let unpublished = self.staged.take();
        let last = unpublished.revision();
        self.in_flight = Some((last, Arc::clone(&group.outcome)));
        Some(InFlight { group, unpublished })
    }

    /// Reverts to the published state. Returns the outcome of the group after the failed one.
    fn drop_unpublished(&mut self) -> Arc<super::Outcome> {
        self.staged.reset();
        self.in_flight = None;
        std::mem::replace(&mut self.open, Group::new()).outcome
    }
}

fn failure_message(error: &io::Error) -> String {
    format!(
        "the store's disk failed: {error}; writes are rejected until the server is restarted; reads still work"
    )
}

//! Spare segments, checkpoints, and removal of obsolete files.

use std::{io, thread, time::Duration};

use kubewright_store::Revision;

use super::{Engine, Unhealthy};
use crate::{
    checkpoint::{self, Written},
    error::Trouble,
    format::{CHECKPOINTS, WAL, checkpoint as format},
    log::list_segments,
};

/// The number of checkpoints that are kept, since the newest may become damaged.
const KEPT: usize = 2;

/// The number of segments after which a checkpoint is due, regardless of their size.
const MAX_SEGMENTS: u64 = 64;

/// The longest pause between parts of a checkpoint.
const MAX_REST: Duration = Duration::from_millis(50);

/// The state of checkpoints.
#[derive(Default)]
pub(super) struct Maintenance {
    /// The newest checkpoint.
    pub(super) last: Option<Written>,
    /// The size of the log when it was written.
    pub(super) log_bytes: u64,
    /// The number of the segment that was written then.
    pub(super) sequence: u64,
}

impl Engine {
    /// Prepares the spare segment if it is missing. Returns whether it is ready.
    pub(crate) fn prepare_spare(&self) -> bool {
        let size = self.writer.lock().next_size();
        let made = self.spares.prepare(&*self.disk, size);
        self.check_space();
        made.is_ok()
    }

    /// Returns whether the log has grown enough for a checkpoint.
    pub(crate) fn is_checkpoint_due(&self) -> bool {
        let maintenance = self.maintenance.lock();
        let written = self
            .counters
            .log_bytes()
            .saturating_sub(maintenance.log_bytes);
        let raw = maintenance.last.map_or(0, |last| last.raw_bytes);
        let sequence = self.writer.lock().sequence();
        written >= self.options.checkpoint_bytes.max(raw / 2)
            || sequence.saturating_sub(maintenance.sequence) >= MAX_SEGMENTS
    }

    /// Writes a checkpoint of the published state, and removes obsolete files. Returns its revision.
    pub(crate) fn checkpoint(&self) -> Result<Revision, Trouble> {
        let mut maintenance = self.maintenance.lock();
        let log_bytes = self.counters.log_bytes();
        let sequence = self.writer.lock().sequence();
        let contents = self.published.contents();
        // In the mode `process`, the log on disk may lag behind the published state, but must not lag behind a checkpoint.
        self.sync_late();
        if let Some(Unhealthy::Failed(why)) = self.unhealthy() {
            return Err(Trouble::Io {
                action: "write a checkpoint".to_owned(),
                source: io::Error::other(why),
            });
        }
        let revision = contents.revision();
        if maintenance.last.map(|last| last.revision) != Some(revision) {
            let written = checkpoint::write(
                &*self.disk,
                &self.id,
                &contents,
                &self.wall.now(),
                &|took| self.rest(took),
            );
            let written = written.inspect_err(|error| {
                self.counters.checkpoint_failed();
                tracing::warn!("the checkpoint of the store failed; the log continues: {error}");
            })?;
            maintenance.last = Some(written);
            self.counters.checkpointed();
        }
        maintenance.log_bytes = log_bytes;
        maintenance.sequence = sequence;
        drop(maintenance);
        let kept = match planted!(DeleteTooEarly) {
            true => 1,
            false => KEPT,
        };
        self.remove_old(kept)?;
        Ok(revision)
    }

    /// Writes a checkpoint and removes all older files.
    pub(crate) fn checkpoint_alone(&self) -> Result<Revision, Trouble> {
        let revision = self.checkpoint()?;
        self.remove_old(1)?;
        Ok(revision)
    }

    /// Pauses after a part of a checkpoint for as long as the disk took, so that half of the disk's time is available to the
    /// log. Fails if the store is closing.
    fn rest(&self, took: Duration) -> io::Result<()> {
        match self.alarm.is_stopped() {
            true => Err(io::Error::new(
                io::ErrorKind::Interrupted,
                "the store is closing",
            )),
            false => {
                thread::sleep(took.min(MAX_REST));
                Ok(())
            }
        }
    }

    /// Removes checkpoints and segments that are needed neither for recovery nor for the configured history.
    fn remove_old(&self, kept: usize) -> Result<(), Trouble> {
        let failed = |source| Trouble::Io {
            action: "remove old files".to_owned(),
            source,
        };
        let checkpoints = checkpoint::list(&*self.disk)?;
        let needed_for_history = self.oldest_for_history(&checkpoints);
        let is_old = |at: &usize, revision: &Revision| {
            *at >= kept && needed_for_history.is_none_or(|needed| *revision != needed)
        };
        let mut removed = false;
        for (at, revision) in checkpoints.iter().enumerate() {
            if is_old(&at, revision) {
                let path = format::path(*revision);
                self.disk.remove(&path).map_err(failed)?;
                removed = true;
            }
        }
        if removed {
            self.disk.sync_folder(CHECKPOINTS).map_err(failed)?;
        }
        let Some(oldest) = checkpoints
            .iter()
            .enumerate()
            .filter(|(at, revision)| !is_old(at, revision))
            .map(|(_, revision)| *revision)
            .next_back()
        else {
            return Ok(());
        };
        if checkpoints.len() >= kept {
            self.remove_segments_before(oldest).map_err(failed)?;
        }
        Ok(())
    }

    fn remove_segments_before(&self, oldest: Revision) -> io::Result<()> {
        let Ok(segments) = list_segments(&*self.disk) else {
            return Ok(());
        };
        let current = self.writer.lock().sequence();
        let mut removed = false;
        for (segment, next) in segments.iter().zip(segments.iter().skip(1)) {
            // The next segment contains everything after the checkpoint.
            if next.first_revision.0 > oldest.0 + 1 || segment.sequence >= current {
                break;
            }
            let path = segment.path();
            if !self.spares.recycle(&*self.disk, &path)? {
                self.disk.remove(&path)?;
            }
            removed = true;
        }
        if removed {
            self.disk.sync_folder(WAL)?;
        }
        Ok(())
    }

    /// Returns the newest checkpoint that is older than the configured history.
    fn oldest_for_history(&self, newest_first: &[Revision]) -> Option<Revision> {
        let history = self.options.history?;
        let now = self.wall.now().wall;
        let is_older = |revision: &&Revision| {
            let name = format::path(**revision);
            let header = checkpoint::read_header(&*self.disk, &name, &self.id);
            header.is_ok_and(|header| {
                u128::from(now.saturating_sub(header.time)) >= history.as_millis()
            })
        };
        let found = newest_first.iter().find(is_older);
        found.or(newest_first.last()).copied()
    }
}

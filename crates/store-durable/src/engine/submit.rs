//! Validates writes against the staged state and adds them to the open group.

use std::sync::Arc;

use kubewright_store::{
    Entry, Key, MemoryStore, Payload, ReadError, Revision, Updated, WriteError, engine::Staged,
};
use tokio::time::Instant;

use super::{Accepting, Engine, Outcome, Pending};
use crate::format::{
    MAX_RECORD,
    record::{WallLifetime, encode_compact, encode_delete, encode_put, put_len},
};

/// A write.
pub(crate) enum Op {
    Create(Key, Payload),
    Update(Key, Revision, Payload),
    Delete(Key, Revision),
}

/// The result of a write, available once its group is durable.
pub(crate) struct Ticket {
    pub(crate) answer: Result<Answer, WriteError>,
    /// The group to wait for; `None` if the result refers to published objects only.
    pub(crate) outcome: Option<Arc<Outcome>>,
}

/// The result of a write.
pub(crate) struct Answer {
    pub(crate) entry: Entry,
    pub(crate) changed: bool,
}

impl Op {
    fn key(&self) -> &Key {
        match self {
            Self::Create(key, _) | Self::Update(key, ..) | Self::Delete(key, _) => key,
        }
    }
}

impl Ticket {
    /// Waits until the result may be returned.
    pub(crate) async fn settled(self) -> Result<Answer, WriteError> {
        match self.outcome {
            None => self.answer,
            Some(outcome) => match outcome.wait().await {
                Ok(()) => self.answer,
                Err(why) => Err(WriteError::Backend(why.to_string().into())),
            },
        }
    }

    fn refused(why: impl Into<String>) -> Self {
        Self {
            answer: Err(WriteError::Backend(why.into().into())),
            outcome: None,
        }
    }
}

impl Engine {
    /// Validates a write and adds it to the open group. Returns the write if the group is full.
    pub(crate) fn submit(&self, op: Op) -> Result<Ticket, Op> {
        let mut pending = self.pending.lock();
        if let Some(why) = pending.refusal(&op) {
            return Ok(Ticket::refused(why));
        }
        if pending.open.is_full() {
            return Err(op);
        }
        let was_empty = pending.open.is_empty();
        let key = op.key().clone();
        let (answer, written) = match self.stage(&mut pending, op) {
            Ok((entry, changed)) => (Ok(Answer { entry, changed }), changed),
            Err(error) => (Err(error), false),
        };
        if written {
            let outcome = Some(Arc::clone(&pending.open.outcome));
            drop(pending);
            if was_empty {
                self.work.notify_one();
            }
            return Ok(Ticket { answer, outcome });
        }
        // An error that refers to staged data waits for that data.
        let outcome = match planted!(EarlyConflict) {
            true => None,
            false => pending.outcome_of(&key, &self.published),
        };
        Ok(Ticket { answer, outcome })
    }

    /// Raises the oldest readable revision. The returned outcome is that of the record.
    pub(crate) fn submit_compact(&self, floor: Revision) -> Result<Arc<Outcome>, ReadError> {
        let mut pending = self.pending.lock();
        if let Some(why) = pending.stopped() {
            return Err(ReadError::Backend(why.into()));
        }
        pending.staged.compact(floor)?;
        encode_compact(&mut pending.open.bytes, floor);
        pending.open.records += 1;
        let outcome = Arc::clone(&pending.open.outcome);
        drop(pending);
        self.work.notify_one();
        Ok(outcome)
    }

    /// Drops past states, as [`MemoryStore::compact_states`] does.
    pub(crate) fn submit_compact_states(&self, floor: Revision) -> Result<Ticket, WriteError> {
        let mut pending = self.pending.lock();
        if let Some(why) = pending.stopped() {
            return Err(WriteError::Backend(why.into()));
        }
        let Pending { staged, open, .. } = &mut *pending;
        let (key, change) = staged.compact_states(floor)?;
        let payload = Payload::plain(change.entry.bytes.clone());
        let created = change.previous.is_none();
        encode_put(&mut open.bytes, &key, &payload, None, created);
        open.records += 1;
        let outcome = Some(Arc::clone(&open.outcome));
        drop(pending);
        self.work.notify_one();
        let entry = change.entry.clone();
        let changed = true;
        let answer = Ok(Answer { entry, changed });
        Ok(Ticket { answer, outcome })
    }

    /// Deletes as many expired objects as fit into the open group. Returns their number, and whether there may be more.
    pub(crate) fn submit_expired(&self, now: Instant) -> (usize, bool, Option<Arc<Outcome>>) {
        let mut pending = self.pending.lock();
        let mut expired = 0;
        if pending.stopped().is_some() {
            return (0, false, None);
        }
        let Pending { staged, open, .. } = &mut *pending;
        let mut more = true;
        while !open.is_full() {
            let Some((collection, change)) = staged.expire(now) else {
                more = false;
                break;
            };
            let path = Arc::clone(&change.entry.path);
            encode_delete(&mut open.bytes, &Key { collection, path }, true);
            open.records += 1;
            expired += 1;
        }
        let outcome = (expired > 0).then(|| Arc::clone(&open.outcome));
        drop(pending);
        self.work.notify_one();
        (expired, more, outcome)
    }

    /// Drops history that is too old. Returns when to check again.
    pub(crate) fn forget_aged(&self, now: Instant) -> Option<Instant> {
        self.pending.lock().staged.forget_aged(now)
    }

    /// Applies a write to the staged state and appends its record.
    fn stage(&self, pending: &mut Pending, op: Op) -> Result<(Entry, bool), WriteError> {
        let Pending { staged, open, .. } = pending;
        let written = match op {
            Op::Create(key, payload) => {
                let (kept, lifetime) = self.kept(&key, &payload)?;
                let change = staged.create(key.clone(), payload)?;
                encode_put(&mut open.bytes, &key, &kept, lifetime, true);
                (change.entry.clone(), true)
            }
            Op::Update(key, expected, payload) => {
                let (kept, lifetime) = self.kept(&key, &payload)?;
                let Updated { entry, changed } = staged.update(key.clone(), expected, payload)?;
                if changed {
                    encode_put(&mut open.bytes, &key, &kept, lifetime, false);
                }
                (entry, changed)
            }
            Op::Delete(key, expected) => {
                let change = staged.delete(key.clone(), expected)?;
                encode_delete(&mut open.bytes, &key, false);
                (change.entry.clone(), true)
            }
        };
        if written.1 {
            open.records += 1;
        }
        Ok(written)
    }

    /// Returns the payload as stored in the log. Fails if it is too large for a record.
    fn kept(
        &self,
        key: &Key,
        payload: &Payload,
    ) -> Result<(Payload, Option<WallLifetime>), WriteError> {
        let len = put_len(key, payload);
        if len > MAX_RECORD {
            let text = format!("an object of {len} bytes is too large for the store's log");
            return Err(WriteError::Backend(text.into()));
        }
        let lifetime = payload.ttl.map(|ttl| WallLifetime {
            ttl,
            deadline: self.wall.now().after(ttl),
        });
        let kept = Payload {
            decoded: None,
            ..payload.clone()
        };
        Ok((kept, lifetime))
    }
}

impl Pending {
    /// Returns the reason to reject a write before it is validated, if there is one.
    fn refusal(&self, op: &Op) -> Option<String> {
        if let Some(why) = self.stopped() {
            return Some(why);
        }
        let why = self.full.as_ref()?;
        grows(&self.staged, op).then(|| why.clone())
    }

    /// Returns the reason why nothing is written any more, if there is one.
    pub(super) fn stopped(&self) -> Option<String> {
        match &self.state {
            Accepting::Yes => None,
            Accepting::Failed(why) => Some(why.to_string()),
            Accepting::Closed => Some("the store is closed".to_owned()),
        }
    }

    /// Returns the group that a result about a key must wait for.
    fn outcome_of(&self, key: &Key, published: &MemoryStore) -> Option<Arc<Outcome>> {
        let published = published.contents().revision();
        // The key has no staged entry, so any staged group may contain its removal.
        let last = self.staged.last_change(key);
        let last = last.unwrap_or_else(|| self.staged.current());
        if last <= published {
            return None;
        }
        match &self.in_flight {
            Some((until, outcome)) if last <= *until => Some(Arc::clone(outcome)),
            _ => Some(Arc::clone(&self.open.outcome)),
        }
    }
}

/// The growth by which an update that leads to the removal of an object is accepted on a full disk: that of a deletion timestamp,
/// of finalizers, and of the record of their manager.
const GROWTH_FOR_DELETION: usize = 4096;

/// Returns whether a write needs more space than it frees.
fn grows(staged: &Staged, op: &Op) -> bool {
    match op {
        Op::Create(..) => true,
        Op::Delete(..) => false,
        Op::Update(key, _, payload) => staged.get(key).is_none_or(|there| {
            let accepted = match payload.for_deletion {
                true => GROWTH_FOR_DELETION,
                false => 0,
            };
            payload.bytes.len() > there.bytes.len() + accepted
        }),
    }
}

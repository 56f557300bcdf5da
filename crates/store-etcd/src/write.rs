//! Writes: transactions that compare the revision of a key.
//!
//! A write whose response is lost is never repeated blindly. The changes since reveal whether it has happened: since it
//! compares the revision, only the first change after that revision can be the write. If there is none, the write is repeated;
//! should the lost request still arrive, one of the two fails. If that is the second, the changes are searched again, since the
//! write has happened.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt;
use kubewright_store::{
    Change, ChangeKind, Entry, Failure, Key, Payload, Revision, Store, WriteError,
};
use tokio::time::{Instant, timeout_at};

use crate::{
    api::{Compare, KeyValue, Op, TxnAnswer, txn_request},
    error::{failure, outcome_unknown},
    grpc::{CallError, Code},
    lease::Leases,
    quorum::Quorum,
    shared::Shared,
};

/// The time limit for the outcome of a write to become known.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time to wait for the watch to deliver a write before it is acknowledged anyway.
const OWN_CHANGE: Duration = Duration::from_secs(3);

pub(crate) const TXN: &str = "/etcdserverpb.KV/Txn";

/// The writer of a store.
pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) quorum: Arc<Quorum>,
    pub(crate) leases: Leases,
}

/// A write.
pub(crate) struct Write<'a> {
    key: &'a Key,
    name: Bytes,
    /// The expected revision of the key; zero if it must not exist.
    expected: Revision,
    action: Action<'a>,
}

pub(crate) enum Action<'a> {
    Put { payload: &'a Payload, value: Bytes },
    Delete,
}

/// The outcome of a transaction, after possible retries.
enum Outcome {
    Done {
        revision: Revision,
        last: Option<Entry>,
    },
    /// The key has another revision, or does not exist.
    Refused(Option<KeyValue>),
}

impl Writer {
    pub(crate) async fn create(&self, key: &Key, payload: &Payload) -> Result<Entry, WriteError> {
        match self.put(key, Revision(0), payload).await {
            Err(WriteError::Conflict(Some(there))) => Err(WriteError::Exists(there)),
            put => put,
        }
    }

    /// Writes an object whose revision must be `expected`; zero means that it must not exist.
    pub(crate) async fn put(
        &self,
        key: &Key,
        expected: Revision,
        payload: &Payload,
    ) -> Result<Entry, WriteError> {
        let name = self.shared.names.name(key)?;
        let value = self.shared.names.layout.encode(key, payload);
        let value = value.map_err(WriteError::Backend)?;
        let _own = self.shared.own.add(&name, &value, payload);
        let write = Write {
            key,
            name,
            expected,
            action: Action::Put { payload, value },
        };
        let (revision, _) = self.commit(&write).await?;
        Ok(Entry {
            path: Arc::clone(&key.path),
            revision,
            bytes: payload.spliced(revision),
            decoded: payload.decoded.clone(),
        })
    }

    pub(crate) async fn delete(&self, key: &Key, expected: Revision) -> Result<Entry, WriteError> {
        let write = Write {
            key,
            name: self.shared.names.name(key)?,
            expected,
            action: Action::Delete,
        };
        let (revision, last) = self.commit(&write).await?;
        let last = last.ok_or_else(|| outcome_unknown("etcd did not return the deleted object"))?;
        Ok(Entry { revision, ..last })
    }

    async fn commit(&self, write: &Write<'_>) -> Result<(Revision, Option<Entry>), WriteError> {
        let deadline = Instant::now() + PATIENCE;
        match self.outcome(write, deadline).await? {
            Outcome::Done { revision, last } => {
                // The write has happened, whether or not the watch is working.
                let _ = self.shared.reach(revision, OWN_CHANGE).await;
                Ok((revision, last))
            }
            Outcome::Refused(None) => Err(WriteError::Conflict(None)),
            Outcome::Refused(Some(kv)) => {
                let there = self.shared.names.entry(write.key, &kv);
                Err(WriteError::Conflict(Some(there.map_err(Failure::from)?)))
            }
        }
    }

    async fn outcome(&self, write: &Write<'_>, deadline: Instant) -> Result<Outcome, Failure> {
        // A create may follow the deletion of an object of the same name, so that only later changes count.
        let before = match write.expected {
            Revision(0) => self.shared.applied(),
            expected => expected,
        };
        let mut has_renewed_lease = false;
        let mut lost: Option<CallError> = None;
        loop {
            let error = match (self.transact(write, deadline).await, &lost) {
                (Ok(Outcome::Refused(there)), Some(lost)) => {
                    // The lost request may have arrived in the meantime.
                    let found = self.find_within(write, before, deadline, lost).await?;
                    return Ok(found.unwrap_or(Outcome::Refused(there)));
                }
                (Ok(outcome), _) => return Ok(outcome),
                (Err(error), _) => error,
            };
            let is_lease = error.code == Code::NOT_FOUND && error.message.contains("lease");
            if is_lease && !has_renewed_lease {
                self.leases.forget();
                has_renewed_lease = true;
                continue;
            }
            let is_over = !error.is_transient() || Instant::now() >= deadline;
            match (is_over, error.is_ambiguous || lost.is_some()) {
                (true, true) => return Err(outcome_unknown(&error.message)),
                (true, false) => return Err(failure(error)),
                (false, _) => {}
            }
            if !error.is_ambiguous {
                // No member was reached, or the request was rejected before it had any effect.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            if let Some(found) = self.find_within(write, before, deadline, &error).await? {
                return Ok(found);
            }
            lost = Some(error);
        }
    }

    /// Determines the outcome of a write whose response was lost. Returns `None` if it has not happened so far.
    async fn find_within(
        &self,
        write: &Write<'_>,
        before: Revision,
        deadline: Instant,
        lost: &CallError,
    ) -> Result<Option<Outcome>, Failure> {
        match timeout_at(deadline, self.find(write, before)).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(unknown)) => {
                let text = format!("{}; {unknown}", lost.message);
                Err(outcome_unknown(&text))
            }
            Err(_) => Err(outcome_unknown(&lost.message)),
        }
    }

    /// Sends the transaction once.
    async fn transact(&self, write: &Write<'_>, deadline: Instant) -> Result<Outcome, CallError> {
        let channel = &self.shared.channel;
        let name = &*write.name;
        let then = match &write.action {
            Action::Delete => Op::Delete(name),
            Action::Put { payload, value } => {
                let lease = match payload.ttl {
                    Some(ttl) => self.leases.lasting(channel, ttl, deadline).await,
                    None => Ok(0),
                };
                // Nothing has been written so far.
                let unsent = |error| CallError {
                    is_ambiguous: false,
                    ..error
                };
                Op::Put {
                    key: name,
                    value,
                    lease: lease.map_err(unsent)?,
                }
            }
        };
        let compare = Compare::ModRevision(name, write.expected.0);
        let request = txn_request(&compare, &then, &Op::Get(name));
        let answer: TxnAnswer = channel.once(TXN, &request, deadline).await?;
        let kv = answer
            .answers
            .into_iter()
            .flat_map(|answer| answer.kvs)
            .next();
        if !answer.succeeded {
            return Ok(Outcome::Refused(kv));
        }
        let revision = Revision(answer.header.revision);
        let last = match (&write.action, kv) {
            // A deleted object has the revision of its deletion.
            (Action::Delete, Some(kv)) => {
                let at_deletion = KeyValue {
                    mod_revision: revision.0,
                    ..kv
                };
                self.shared.names.entry(write.key, &at_deletion).ok()
            }
            _ => None,
        };
        Ok(Outcome::Done { revision, last })
    }

    /// Determines the outcome of a write from the changes since. Returns `None` if it has not happened so far.
    async fn find(&self, write: &Write<'_>, before: Revision) -> Result<Option<Outcome>, Failure> {
        let newest = self.quorum.newest().await?;
        self.shared.reach(newest, PATIENCE).await?;
        let Some(change) = self.possible_change(write, before).await? else {
            return Ok(None);
        };
        let revision = change.revision;
        Ok(Some(match &write.action {
            Action::Delete if change.kind == ChangeKind::Deleted => {
                let last = Some(change.entry.clone());
                Outcome::Done { revision, last }
            }
            Action::Put { payload, .. } if change.entry.bytes == payload.spliced(revision) => {
                let last = None;
                Outcome::Done { revision, last }
            }
            // Another writer was first. The current object is returned when the transaction is repeated.
            _ => return Ok(None),
        }))
    }

    /// Returns the change that may be a write: the first one after a revision. A new object is recognised by its bytes, since
    /// others may have created and deleted objects of the same name before.
    async fn possible_change(
        &self,
        write: &Write<'_>,
        after: Revision,
    ) -> Result<Option<Arc<Change>>, Failure> {
        let (published, key) = (&self.shared.published, write.key);
        let watch = published.watch(&key.collection, &key.path, after).await;
        let mut watch = watch.map_err(|error| outcome_unknown(&error.to_string()))?;
        while let Some(changes) = watch.next().now_or_never() {
            let changes = changes.map_err(|error| outcome_unknown(&error.to_string()))?;
            let is_possible = |change: &&Arc<Change>| {
                change.entry.path == key.path && write.may_have_made(change)
            };
            if let Some(change) = changes.iter().find(is_possible) {
                return Ok(Some(Arc::clone(change)));
            }
        }
        Ok(None)
    }
}

impl Write<'_> {
    /// Returns whether a change of the object, the first one considered, may be this write.
    fn may_have_made(&self, change: &Change) -> bool {
        match (&self.action, self.expected) {
            (Action::Put { payload, .. }, Revision(0)) => {
                change.kind == ChangeKind::Created
                    && change.entry.bytes == payload.spliced(change.revision)
            }
            _ => true,
        }
    }
}

//! Ranges, and transactions: conditions and at most one write, which the store compares and swaps.

use std::sync::Arc;

use kubewright_store::{Entry, Payload, Range, Revision, Snapshot, Store, WriteError};

use crate::{
    bounds::Bounds,
    call::CallError,
    leases::Leases,
    messages::{Compare, Op, OpAnswer, RangeAnswer, RangeRequest, TxnRequest},
    stored::{COLLECTION, KeyValue, key, replacing},
};

/// The attempts of a transaction whose key others write too.
const ATTEMPTS: usize = 1000;

/// The outcome of a transaction.
pub(crate) struct TxnOutcome {
    pub(crate) revision: Revision,
    pub(crate) succeeded: bool,
    pub(crate) answers: Vec<OpAnswer>,
}

/// Reads a range at its revision. Returns the newest revision too.
pub(crate) async fn range(
    store: &dyn Store,
    request: &RangeRequest,
) -> Result<(Revision, RangeAnswer), CallError> {
    let at = Some(request.revision).filter(|revision| *revision > 0);
    let snapshot = store.snapshot(at.map(Revision)).await?;
    let answer = range_of(&*snapshot, request).await?;
    let newest = match at {
        Some(_) => store.current().await?,
        None => snapshot.revision(),
    };
    Ok((newest, answer))
}

async fn range_of(
    snapshot: &dyn Snapshot,
    request: &RangeRequest,
) -> Result<RangeAnswer, CallError> {
    let (entries, count) = match &request.bounds {
        Bounds::One(path) => {
            let found = snapshot.get(&key(path)).await?;
            (Vec::from_iter(found), None)
        }
        Bounds::Range { prefix, start, end } => {
            // Whatever has the prefix is before the end, unless the prefix is shorter than that.
            let is_prefix = end.as_deref().is_none_or(|end| is_end_of(prefix, end));
            let limit = match (is_prefix, request.count_only) {
                (false, _) => 0,
                (true, true) => 1,
                (true, false) => request.limit,
            };
            let range = Range {
                prefix: prefix.clone(),
                start: start.clone(),
                limit,
            };
            let page = snapshot.range(COLLECTION, range).await?;
            let count = page.entries.len() as u64 + page.remaining;
            match is_prefix {
                true => (page.entries, Some(count)),
                false => {
                    let mut entries = page.entries;
                    entries.retain(|entry| request.bounds.contains(&entry.path));
                    let count = entries.len() as u64;
                    if request.limit > 0 {
                        entries.truncate(request.limit);
                    }
                    (entries, Some(count))
                }
            }
        }
    };
    let count = count.unwrap_or(entries.len() as u64);
    if request.count_only {
        return Ok(RangeAnswer {
            count,
            ..RangeAnswer::default()
        });
    }
    let more = (entries.len() as u64) < count;
    let kvs = entries.iter().map(KeyValue::of);
    let kvs = match request.keys_only {
        true => kvs.map(KeyValue::without_value).collect(),
        false => kvs.collect(),
    };
    Ok(RangeAnswer { kvs, more, count })
}

/// Returns whether the keys with a prefix are those before an end.
fn is_end_of(prefix: &str, end: &str) -> bool {
    match (prefix.as_bytes(), end.as_bytes()) {
        ([head @ .., last], [tail @ .., next]) => head == tail && last + 1 == *next,
        _ => false,
    }
}

/// Runs a transaction.
pub(crate) async fn transact(
    store: &dyn Store,
    leases: &Leases,
    txn: &TxnRequest,
) -> Result<TxnOutcome, CallError> {
    for _ in 0..ATTEMPTS {
        let snapshot = store.snapshot(None).await?;
        let succeeded = holds(&*snapshot, &txn.compare).await?;
        let ops = match succeeded {
            true => &txn.success,
            false => &txn.failure,
        };
        let is_read = |op: &Op| matches!(op, Op::Range(_));
        if ops.iter().all(is_read) {
            let mut answers = Vec::new();
            for op in ops {
                if let Op::Range(request) = op {
                    answers.push(OpAnswer::Range(range_in(store, &snapshot, request).await?));
                }
            }
            let revision = snapshot.revision();
            return Ok(TxnOutcome {
                revision,
                succeeded,
                answers,
            });
        }
        let [op] = &ops[..] else {
            return Err(CallError::unimplemented("writes beside other operations"));
        };
        if let Some(written) = write(store, leases, &*snapshot, op, &txn.compare).await? {
            let (revision, answer) = written;
            return Ok(TxnOutcome {
                revision,
                succeeded,
                answers: vec![answer],
            });
        }
    }
    Err(CallError::too_many())
}

/// Reads a range of a transaction.
async fn range_in(
    store: &dyn Store,
    snapshot: &Arc<dyn Snapshot>,
    request: &RangeRequest,
) -> Result<RangeAnswer, CallError> {
    match request.revision {
        0 => range_of(&**snapshot, request).await,
        revision => range_of(&*store.snapshot(Some(Revision(revision))).await?, request).await,
    }
}

async fn holds(snapshot: &dyn Snapshot, compare: &[Compare]) -> Result<bool, CallError> {
    for compare in compare {
        let there = snapshot.get(&key(&compare.key)).await?;
        if !compare.holds(there.as_ref().map(KeyValue::of).as_ref()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes one key. `None`: somebody else has written it since the conditions were looked at.
async fn write(
    store: &dyn Store,
    leases: &Leases,
    snapshot: &dyn Snapshot,
    op: &Op,
    compare: &[Compare],
) -> Result<Option<(Revision, OpAnswer)>, CallError> {
    let (Op::Put { key: path, .. } | Op::Delete { key: path, .. }) = op else {
        return Err(CallError::unimplemented("this operation"));
    };
    // The store compares the written key only.
    if compare.iter().any(|compare| compare.key != *path) {
        return Err(CallError::unimplemented(
            "writes on conditions of other keys",
        ));
    }
    let there = snapshot.get(&key(path)).await?;
    let before = there.as_ref().map(KeyValue::of);
    match op {
        Op::Put {
            value,
            lease,
            previous,
            ..
        } => {
            let payload = Payload {
                ttl: leases.left(*lease)?,
                ..Payload::plain(replacing(before.as_ref(), value, *lease))
            };
            let written = match &there {
                None => store.create(key(path), payload).await,
                Some(entry) => {
                    let updated = store.update(key(path), entry.revision, payload).await;
                    updated.map(|updated| updated.entry)
                }
            };
            let answer = OpAnswer::Put(before.filter(|_| *previous));
            Ok(swapped(written)?.map(|entry| (entry.revision, answer)))
        }
        Op::Delete { previous, .. } => {
            let Some(entry) = &there else {
                let answer = OpAnswer::Delete(0, None);
                return Ok(Some((snapshot.revision(), answer)));
            };
            let deleted = store.delete(key(path), entry.revision).await;
            let answer = OpAnswer::Delete(1, before.filter(|_| *previous));
            Ok(swapped(deleted)?.map(|entry| (entry.revision, answer)))
        }
        Op::Range(_) => Err(CallError::unimplemented("this operation")),
    }
}

fn swapped(written: Result<Entry, WriteError>) -> Result<Option<Entry>, CallError> {
    match written {
        Ok(entry) => Ok(Some(entry)),
        Err(WriteError::Exists(_) | WriteError::Conflict(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::is_end_of;

    #[test]
    fn a_prefix_ends_where_its_last_byte_is_one_more() {
        assert!(is_end_of("/a/", "/a0"));
        assert!(!is_end_of("/a/", "/b0") && !is_end_of("/a", "/a0") && !is_end_of("", "a"));
    }
}

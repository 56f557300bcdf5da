//! A revision-based check of linearizability.
//!
//! Since every write has a revision, the check needs no search: sorted by revision, the writes must yield the recorded
//! responses; an operation that ended before another began has a smaller revision; a read returns the state at a revision that
//! is not older than the writes that were acknowledged when it began; and a write with an unknown outcome is in the history at
//! most once.

use std::collections::{BTreeMap, HashMap, HashSet};

use tokio::time::Instant;

/// An operation with its times.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) path: String,
    pub(crate) what: What,
}

/// An operation and its result.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A write of a unique value that replaced a revision (zero: a create), acknowledged at a revision.
    Written { over: u64, value: String, at: u64 },
    /// A deletion of a revision, acknowledged at a revision.
    Deleted { over: u64, at: u64 },
    /// A write or deletion (no value) with an unknown outcome.
    Unknown { over: u64, value: Option<String> },
    /// A write that was rejected because the object had another revision.
    Refused { value: Option<String> },
    /// A read of the newest object: its revision and value.
    Read(Option<(u64, String)>),
    /// A list of all objects, at a revision.
    Listed {
        at: u64,
        objects: Vec<(String, u64, String)>,
    },
}

/// A change that a watch delivered: revision, path, and the value unless it was a deletion.
pub(crate) type Seen = (u64, String, Option<String>);

/// Checks a history against all changes since it began, as a watch delivered them. Returns the number of checks.
pub(crate) fn check(operations: &[Operation], changes: &[Seen]) -> Result<usize, String> {
    let mut number = 0;
    // The changes are ordered, and each value is written once.
    let mut values = HashSet::new();
    for pair in changes.windows(2) {
        ensure(pair[0].0 < pair[1].0, || {
            format!("changes out of order: {pair:?}")
        })?;
    }
    for (_, _, value) in changes {
        if let Some(value) = value {
            ensure(values.insert(value), || {
                format!("{value} was written twice")
            })?;
        }
    }
    let by_revision: HashMap<u64, &Seen> = changes.iter().map(|seen| (seen.0, seen)).collect();
    // The object of each path after each of its changes.
    let mut states: HashMap<&str, BTreeMap<u64, Option<&str>>> = HashMap::new();
    for (revision, path, value) in changes {
        states
            .entry(path)
            .or_default()
            .insert(*revision, value.as_deref());
    }
    let object_at = |path: &str, revision: u64| -> Option<(u64, &str)> {
        let (at, value) = states.get(path)?.range(..=revision).next_back()?;
        value.map(|value| (*at, value))
    };
    for operation in operations {
        number += 1;
        let path = &*operation.path;
        let fail = |why: &str| Err(format!("{why}: {operation:?}"));
        match &operation.what {
            What::Written { over, value, at } => {
                let expected = (*at, path.to_owned(), Some(value.clone()));
                if by_revision.get(at) != Some(&&expected) {
                    return fail("an acknowledged write is not in the history");
                }
                if object_at(path, at - 1).map_or(0, |(revision, _)| revision) != *over {
                    return fail("a write replaced another revision");
                }
            }
            What::Deleted { over, at } => {
                if by_revision.get(at) != Some(&&(*at, path.to_owned(), None)) {
                    return fail("an acknowledged deletion is not in the history");
                }
                if object_at(path, at - 1).map_or(0, |(revision, _)| revision) != *over {
                    return fail("a deletion deleted another revision");
                }
            }
            What::Unknown { over, value } => {
                let found = changes
                    .iter()
                    .find(|seen| value.is_some() && seen.2 == *value);
                if let Some((at, ..)) = found
                    && object_at(path, at - 1).map_or(0, |(revision, _)| revision) != *over
                {
                    return fail("a write of unknown outcome replaced another revision");
                }
            }
            What::Refused { value } => {
                if value.is_some() && changes.iter().any(|seen| seen.2 == *value) {
                    return fail("a refused write is in the history");
                }
            }
            What::Read(None) => {}
            What::Read(Some((revision, value))) => {
                if object_at(path, *revision) != Some((*revision, value)) {
                    return fail("a read shows what was never there");
                }
            }
            What::Listed { at, objects } => {
                let mut expected = Vec::new();
                for path in states.keys() {
                    if let Some((revision, value)) = object_at(path, *at) {
                        expected.push(((*path).to_owned(), revision, value.to_owned()));
                    }
                }
                expected.sort();
                if expected != *objects {
                    return fail("a list does not show the state at its revision");
                }
            }
        }
    }
    let is_deleted_after = |path: &str, revision: u64| {
        let later = states.get(path).map(|states| states.range(revision + 1..));
        later.is_some_and(|mut later| later.any(|(_, value)| value.is_none()))
    };
    real_time(operations, &object_at, &is_deleted_after)?;
    Ok(number)
}

/// Checks the real-time order.
fn real_time<'a>(
    operations: &[Operation],
    object_at: &impl Fn(&str, u64) -> Option<(u64, &'a str)>,
    is_deleted_after: &impl Fn(&str, u64) -> bool,
) -> Result<(), String> {
    let mut by_begin: Vec<&Operation> = operations.iter().collect();
    by_begin.sort_by_key(|operation| operation.began);
    let mut by_end = by_begin.clone();
    by_end.sort_by_key(|operation| operation.ended);
    let mut ended = by_end.into_iter().peekable();
    // The largest revision that any client had seen when an operation began.
    let mut known = 0;
    for operation in by_begin {
        while let Some(before) = ended.next_if(|before| before.ended < operation.began) {
            known = known.max(revision(before));
        }
        let is_stale = match &operation.what {
            What::Written { at, .. } | What::Deleted { at, .. } => *at <= known,
            What::Listed { at, .. } => *at < known,
            What::Unknown { .. } | What::Refused { .. } => false,
            What::Read(read) => {
                let newest = object_at(&operation.path, known).map(|(revision, _)| revision);
                match read {
                    // The object may be older than `known` if it was not written since.
                    Some((read, _)) => *read <= known && newest != Some(*read),
                    // The object may have been deleted since.
                    None => newest.is_some() && !is_deleted_after(&operation.path, known),
                }
            }
        };
        if is_stale {
            return Err(format!("revision {known} was known before: {operation:?}"));
        }
    }
    Ok(())
}

/// Returns the largest revision that an operation revealed.
fn revision(operation: &Operation) -> u64 {
    match &operation.what {
        What::Written { at, .. } | What::Deleted { at, .. } | What::Listed { at, .. } => *at,
        What::Read(Some((revision, _))) => *revision,
        What::Read(None) | What::Unknown { .. } | What::Refused { .. } => 0,
    }
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(why()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Returns an operation from one millisecond to another.
    fn operation(base: Instant, began: u64, ended: u64, what: What) -> Operation {
        Operation {
            began: base + Duration::from_millis(began),
            ended: base + Duration::from_millis(ended),
            path: "a".into(),
            what,
        }
    }

    #[test]
    fn the_check_detects_violations() {
        let base = Instant::now();
        let changes: Vec<Seen> = vec![
            (2, "a".into(), Some("x".into())),
            (3, "a".into(), Some("y".into())),
            (5, "a".into(), None),
        ];
        let written = |over, value: &str, at| What::Written {
            over,
            value: value.into(),
            at,
        };
        let good = [
            operation(base, 0, 1, written(0, "x", 2)),
            operation(base, 2, 3, written(2, "y", 3)),
            operation(base, 4, 5, What::Read(Some((3, "y".into())))),
            operation(base, 6, 7, What::Deleted { over: 3, at: 5 }),
            operation(
                base,
                8,
                9,
                What::Listed {
                    at: 5,
                    objects: vec![],
                },
            ),
        ];
        assert_eq!(check(&good, &changes), Ok(5));
        let bad = [
            (2, What::Read(Some((2, "x".into())))),
            (2, What::Read(Some((3, "x".into())))),
            (4, What::Read(Some((3, "y".into())))),
            (
                1,
                What::Refused {
                    value: Some("y".into()),
                },
            ),
            (1, written(0, "y", 3)),
            (1, written(2, "z", 3)),
            (3, What::Deleted { over: 2, at: 5 }),
            (
                4,
                What::Listed {
                    at: 3,
                    objects: vec![],
                },
            ),
            (
                4,
                What::Listed {
                    at: 3,
                    objects: vec![("a".into(), 3, "y".into())],
                },
            ),
        ];
        for (index, what) in bad {
            let mut history = good.to_vec();
            history[index].what = what;
            assert!(check(&history, &changes).is_err(), "{history:?}");
        }
        let twice = [changes.clone(), vec![(9, "b".into(), Some("x".into()))]].concat();
        assert!(check(&good, &twice).is_err());
    }
}

//! The messages of calls: requests are read, answers are written.

use bytes::Bytes;

use crate::{
    bounds::Bounds,
    call::CallError,
    stored::KeyValue,
    wire::{Reader, Value, Writer},
};

/// The number of the only member, and of its cluster.
const MEMBER: i64 = 1;
/// The version of etcd whose API this is. kube-apiserver asks for progress from 3.5.13 on.
const VERSION: &str = "3.6.8";

/// A request for keys.
#[derive(Debug)]
pub(crate) struct RangeRequest {
    pub(crate) bounds: Bounds,
    pub(crate) limit: usize,
    /// Zero: the newest.
    pub(crate) revision: u64,
    pub(crate) keys_only: bool,
    pub(crate) count_only: bool,
}

/// The keys that a range has found.
#[derive(Debug, Default)]
pub(crate) struct RangeAnswer {
    pub(crate) kvs: Vec<KeyValue>,
    pub(crate) more: bool,
    pub(crate) count: u64,
}

/// A transaction.
#[derive(Debug, Default)]
pub(crate) struct TxnRequest {
    pub(crate) compare: Vec<Compare>,
    pub(crate) success: Vec<Op>,
    pub(crate) failure: Vec<Op>,
}

/// A condition on a key.
#[derive(Debug)]
pub(crate) struct Compare {
    pub(crate) key: String,
    pub(crate) result: std::cmp::Ordering,
    pub(crate) is_negated: bool,
    pub(crate) target: Target,
}

/// The subject of a condition, and what it is compared with.
#[derive(Debug)]
pub(crate) enum Target {
    Version(i64),
    CreateRevision(i64),
    ModRevision(i64),
    Value(Bytes),
}

/// An operation of a transaction.
#[derive(Debug)]
pub(crate) enum Op {
    Range(RangeRequest),
    Put {
        key: String,
        value: Bytes,
        lease: i64,
        previous: bool,
    },
    Delete {
        key: String,
        previous: bool,
    },
}

/// The answer to an operation.
#[derive(Debug)]
pub(crate) enum OpAnswer {
    Range(RangeAnswer),
    Put(Option<KeyValue>),
    /// The number of deleted keys, and what they were if that was asked for.
    Delete(u64, Option<KeyValue>),
}

/// A request on the stream of watches.
#[derive(Debug)]
pub(crate) enum WatchRequest {
    Create {
        bounds: Bounds,
        start: u64,
        progress: bool,
        previous: bool,
        id: i64,
    },
    Cancel(i64),
    Progress,
}

/// The fields of a message.
fn fields(
    message: Bytes,
    mut each: impl FnMut(u32, Value) -> Result<(), CallError>,
) -> Result<(), CallError> {
    let mut reader = Reader::new(message);
    while let Some((field, value)) = reader.next()? {
        each(field, value)?;
    }
    Ok(())
}

fn unsigned(value: Value) -> Result<u64, CallError> {
    let number = u64::try_from(value.number()?);
    number.map_err(|_| CallError::invalid("a number is negative"))
}

fn is_set(value: Value) -> Result<bool, CallError> {
    Ok(value.number()? != 0)
}

/// Returns the text of a key.
fn one_key(key: &[u8], end: &[u8]) -> Result<String, CallError> {
    match Bounds::of(key, end)? {
        Bounds::One(key) => Ok(key),
        Bounds::Range { .. } => Err(CallError::unimplemented("writes and conditions of ranges")),
    }
}

impl RangeRequest {
    pub(crate) fn read(message: Bytes) -> Result<Self, CallError> {
        let (mut key, mut end) = (Bytes::new(), Bytes::new());
        let (mut limit, mut revision) = (0, 0);
        let (mut keys_only, mut count_only) = (false, false);
        let (mut order, mut target) = (0, 0);
        fields(message, |field, value| {
            match field {
                1 => key = value.bytes()?,
                2 => end = value.bytes()?,
                3 => limit = value.number()?.max(0),
                4 => revision = value.number()?.max(0),
                5 => order = value.number()?,
                6 => target = value.number()?,
                8 => keys_only = is_set(value)?,
                9 => count_only = is_set(value)?,
                10..=13 => return Err(CallError::unimplemented("ranges by revision")),
                _ => {}
            }
            Ok(())
        })?;
        // Keys in ascending order are what every range has.
        if order > 1 || order == 1 && target != 0 {
            return Err(CallError::unimplemented("sorted ranges"));
        }
        Ok(Self {
            bounds: Bounds::of(&key, &end)?,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            revision: revision as u64,
            keys_only,
            count_only,
        })
    }
}

impl RangeAnswer {
    fn encode(&self, revision: u64) -> Writer {
        let answer = Writer::default().message(1, &header(revision));
        let answer = self
            .kvs
            .iter()
            .fold(answer, |answer, kv| answer.message(2, &kv.encode()));
        answer
            .number(3, i64::from(self.more))
            .number(4, self.count as i64)
    }
}

impl TxnRequest {
    pub(crate) fn read(message: Bytes) -> Result<Self, CallError> {
        let mut txn = Self::default();
        fields(message, |field, value| {
            match field {
                1 => txn.compare.push(Compare::read(value.bytes()?)?),
                2 => txn.success.push(Op::read(value.bytes()?)?),
                3 => txn.failure.push(Op::read(value.bytes()?)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(txn)
    }

    /// Returns a transaction of one operation without a condition.
    pub(crate) fn of(op: Op) -> Self {
        Self {
            success: vec![op],
            ..Self::default()
        }
    }
}

impl Compare {
    fn read(message: Bytes) -> Result<Self, CallError> {
        let (mut key, mut end) = (Bytes::new(), Bytes::new());
        let (mut result, mut target, mut given) = (0, 0, None);
        fields(message, |field, value| {
            match field {
                1 => result = value.number()?,
                2 => target = value.number()?,
                3 => key = value.bytes()?,
                4 => given = Some(Target::Version(value.number()?)),
                5 => given = Some(Target::CreateRevision(value.number()?)),
                6 => given = Some(Target::ModRevision(value.number()?)),
                7 => given = Some(Target::Value(value.bytes()?)),
                64 => end = value.bytes()?,
                _ => {}
            }
            Ok(())
        })?;
        // A number that is zero need not be on the wire.
        let given = given.or(match target {
            0 => Some(Target::Version(0)),
            1 => Some(Target::CreateRevision(0)),
            2 => Some(Target::ModRevision(0)),
            3 => Some(Target::Value(Bytes::new())),
            _ => None,
        });
        use std::cmp::Ordering::{Equal, Greater, Less};
        let (result, is_negated) = match result {
            0 => (Equal, false),
            1 => (Greater, false),
            2 => (Less, false),
            3 => (Equal, true),
            _ => return Err(CallError::invalid("a condition has an unknown operator")),
        };
        Ok(Self {
            key: one_key(&key, &end)?,
            result,
            is_negated,
            target: given.ok_or_else(|| CallError::unimplemented("conditions on leases"))?,
        })
    }

    /// Returns whether the condition holds for what is there.
    pub(crate) fn holds(&self, there: Option<&KeyValue>) -> bool {
        let number = |of: fn(&KeyValue) -> u64, given: &i64| {
            let number = there.map_or(0, of);
            i64::try_from(number).unwrap_or(i64::MAX).cmp(given)
        };
        let found = match &self.target {
            Target::Version(given) => number(|kv| kv.version, given),
            Target::CreateRevision(given) => number(|kv| kv.create_revision, given),
            Target::ModRevision(given) => number(|kv| kv.mod_revision, given),
            // The value of a key that does not exist is equal to none.
            Target::Value(given) => match there {
                Some(kv) => kv.value.cmp(given),
                None => return false,
            },
        };
        (found == self.result) != self.is_negated
    }
}

impl Op {
    fn read(message: Bytes) -> Result<Self, CallError> {
        let mut op = None;
        fields(message, |field, value| {
            op = Some(match field {
                1 => Self::Range(RangeRequest::read(value.bytes()?)?),
                2 => Self::read_put(value.bytes()?)?,
                3 => Self::read_delete(value.bytes()?)?,
                _ => return Err(CallError::unimplemented("nested transactions")),
            });
            Ok(())
        })?;
        op.ok_or_else(|| CallError::invalid("an operation is empty"))
    }

    pub(crate) fn read_put(message: Bytes) -> Result<Self, CallError> {
        let (mut key, mut value, mut lease, mut previous) = (Bytes::new(), Bytes::new(), 0, false);
        fields(message, |field, given| {
            match field {
                1 => key = given.bytes()?,
                2 => value = given.bytes()?,
                3 => lease = given.number()?,
                4 => previous = is_set(given)?,
                5 | 6 => return Err(CallError::unimplemented("parts of a key that are kept")),
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self::Put {
            key: one_key(&key, b"")?,
            value,
            lease,
            previous,
        })
    }

    pub(crate) fn read_delete(message: Bytes) -> Result<Self, CallError> {
        let (mut key, mut end, mut previous) = (Bytes::new(), Bytes::new(), false);
        fields(message, |field, value| {
            match field {
                1 => key = value.bytes()?,
                2 => end = value.bytes()?,
                3 => previous = is_set(value)?,
                _ => {}
            }
            Ok(())
        })?;
        let key = one_key(&key, &end)?;
        Ok(Self::Delete { key, previous })
    }
}

impl OpAnswer {
    /// Returns the field of the answer in that of a transaction, and the answer.
    fn encode(&self, revision: u64) -> (u32, Vec<u8>) {
        let empty = Writer::default().message(1, &header(revision));
        match self {
            Self::Range(range) => (1, range.encode(revision).finish()),
            Self::Put(previous) => {
                let previous = previous.iter();
                let answer = previous.fold(empty, |answer, kv| answer.message(2, &kv.encode()));
                (2, answer.finish())
            }
            Self::Delete(number, previous) => {
                let answer = empty.number(2, *number as i64);
                let previous = previous.iter();
                let answer = previous.fold(answer, |answer, kv| answer.message(3, &kv.encode()));
                (3, answer.finish())
            }
        }
    }

    /// Returns the answer to a call of this operation alone.
    pub(crate) fn alone(&self, revision: u64) -> Vec<u8> {
        self.encode(revision).1
    }
}

impl WatchRequest {
    pub(crate) fn read(message: Bytes) -> Result<Self, CallError> {
        let mut request = None;
        fields(message, |field, value| {
            request = Some(match field {
                1 => Self::read_create(value.bytes()?)?,
                2 => Self::Cancel(first_number(value.bytes()?)?),
                3 => Self::Progress,
                _ => return Err(CallError::unimplemented("this request on a watch")),
            });
            Ok(())
        })?;
        request.ok_or_else(|| CallError::invalid("a request on a watch is empty"))
    }

    fn read_create(message: Bytes) -> Result<Self, CallError> {
        let (mut key, mut end) = (Bytes::new(), Bytes::new());
        let (mut start, mut progress, mut previous, mut id) = (0, false, false, 0);
        fields(message, |field, value| {
            match field {
                1 => key = value.bytes()?,
                2 => end = value.bytes()?,
                3 => start = unsigned(value)?,
                4 => progress = is_set(value)?,
                5 => return Err(CallError::unimplemented("filters of watches")),
                6 => previous = is_set(value)?,
                7 => id = value.number()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self::Create {
            bounds: Bounds::of(&key, &end)?,
            start,
            progress,
            previous,
            id,
        })
    }
}

impl KeyValue {
    pub(crate) fn encode(&self) -> Vec<u8> {
        Writer::default()
            .bytes(1, &self.key)
            .number(2, self.create_revision as i64)
            .number(3, self.mod_revision as i64)
            .number(4, self.version as i64)
            .bytes(5, &self.value)
            .number(6, self.lease)
            .finish()
    }
}

/// Returns the first number of a message: the revision of a compaction, the number of a watch.
pub(crate) fn first_number(message: Bytes) -> Result<i64, CallError> {
    let mut first = 0;
    fields(message, |field, value| {
        if field == 1 {
            first = value.number()?;
        }
        Ok(())
    })?;
    Ok(first)
}

/// Reads the request for a lease: its time in seconds, and its number if the client has chosen one.
pub(crate) fn lease_request(message: Bytes) -> Result<(i64, i64), CallError> {
    let (mut seconds, mut id) = (0, 0);
    fields(message, |field, value| {
        match field {
            1 => seconds = value.number()?,
            2 => id = value.number()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok((seconds, id))
}

pub(crate) fn header(revision: u64) -> Vec<u8> {
    Writer::default()
        .number(1, MEMBER)
        .number(2, MEMBER)
        .number(3, revision as i64)
        .number(4, 1)
        .finish()
}

pub(crate) fn txn_answer(revision: u64, succeeded: bool, answers: &[OpAnswer]) -> Vec<u8> {
    let answer = Writer::default()
        .message(1, &header(revision))
        .number(2, i64::from(succeeded));
    let answer = answers.iter().fold(answer, |answer, op| {
        let (field, encoded) = op.encode(revision);
        let op = Writer::default().message(field, &encoded).finish();
        answer.message(3, &op)
    });
    answer.finish()
}

/// Returns an answer that has only a header.
pub(crate) fn header_only(revision: u64) -> Vec<u8> {
    Writer::default().message(1, &header(revision)).finish()
}

pub(crate) fn lease_answer(revision: u64, id: i64, seconds: i64) -> Vec<u8> {
    Writer::default()
        .message(1, &header(revision))
        .number(2, id)
        .number(3, seconds)
        .finish()
}

pub(crate) fn status_answer(revision: u64) -> Vec<u8> {
    Writer::default()
        .message(1, &header(revision))
        .bytes(2, VERSION.as_bytes())
        .number(4, MEMBER)
        .number(5, revision as i64)
        .number(6, 1)
        .number(7, revision as i64)
        .finish()
}

pub(crate) fn members_answer(revision: u64, url: &str) -> Vec<u8> {
    let member = Writer::default()
        .number(1, MEMBER)
        .bytes(2, b"etcd-door")
        .bytes(4, url.as_bytes())
        .finish();
    Writer::default()
        .message(1, &header(revision))
        .message(2, &member)
        .finish()
}

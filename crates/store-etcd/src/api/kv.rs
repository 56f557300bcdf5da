//! Ranges, transactions and compaction.

use bytes::Bytes;

use super::{
    Malformed, Message,
    wire::{Value, Writer},
};

/// The header of every response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) cluster: u64,
    pub(crate) revision: u64,
}

/// A stored key.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyValue {
    pub(crate) key: Bytes,
    pub(crate) mod_revision: u64,
    pub(crate) version: i64,
    pub(crate) value: Bytes,
}

/// A request for the keys from `key` to before `end`, or for `key` alone.
#[derive(Clone, Copy, Default)]
pub(crate) struct RangeRequest<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) end: &'a [u8],
    pub(crate) limit: i64,
    /// The revision to read at; zero is the newest.
    pub(crate) revision: u64,
    pub(crate) keys_only: bool,
    pub(crate) count_only: bool,
}

/// The response to a range.
#[derive(Debug, Default)]
pub(crate) struct RangeAnswer {
    pub(crate) header: Header,
    pub(crate) kvs: Vec<KeyValue>,
    pub(crate) more: bool,
    /// The number of keys of the range, regardless of the limit.
    pub(crate) count: u64,
}

/// A condition of a transaction.
pub(crate) enum Compare<'a> {
    /// The revision of the last write of a key; zero if there is none.
    ModRevision(&'a [u8], u64),
    /// The number of writes of a key since it was created.
    Version(&'a [u8], i64),
}

/// An operation of a transaction.
pub(crate) enum Op<'a> {
    Get(&'a [u8]),
    Put {
        key: &'a [u8],
        value: &'a [u8],
        lease: i64,
    },
    Delete(&'a [u8]),
}

/// The response to a transaction.
#[derive(Debug, Default)]
pub(crate) struct TxnAnswer {
    pub(crate) header: Header,
    pub(crate) succeeded: bool,
    pub(crate) answers: Vec<OpAnswer>,
}

/// The keys that an operation of a transaction found or deleted.
#[derive(Debug, Default)]
pub(crate) struct OpAnswer {
    pub(crate) kvs: Vec<KeyValue>,
}

/// Returns the first key after all keys with the prefix.
pub(crate) fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return end;
        }
    }
    // All keys.
    vec![0]
}

/// Returns the request of a transaction.
pub(crate) fn txn_request(compare: &Compare<'_>, then: &Op<'_>, otherwise: &Op<'_>) -> Vec<u8> {
    Writer::default()
        .message(1, &compare.encode())
        .message(2, &then.encode())
        .message(3, &otherwise.encode())
        .finish()
}

/// Returns the request to compact the history before a revision.
pub(crate) fn compaction_request(revision: u64) -> Vec<u8> {
    Writer::default().number(1, revision as i64).finish()
}

impl RangeRequest<'_> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        Writer::default()
            .bytes(1, self.key)
            .bytes(2, self.end)
            .number(3, self.limit)
            .number(4, self.revision as i64)
            .number(8, i64::from(self.keys_only))
            .number(9, i64::from(self.count_only))
            .finish()
    }
}

impl Compare<'_> {
    fn encode(&self) -> Vec<u8> {
        const VERSION: i64 = 0;
        const MOD: i64 = 2;
        let (target, key) = match self {
            Self::ModRevision(key, _) => (MOD, key),
            Self::Version(key, _) => (VERSION, key),
        };
        // The result defaults to "equal".
        let compare = Writer::default().number(2, target).bytes(3, key);
        let compare = match self {
            Self::ModRevision(_, revision) => compare.set_number(6, *revision as i64),
            Self::Version(_, version) => compare.set_number(4, *version),
        };
        compare.finish()
    }
}

impl Op<'_> {
    fn encode(&self) -> Vec<u8> {
        let (kind, request) = match self {
            Self::Get(key) => (1, Writer::default().bytes(1, key)),
            Self::Put { key, value, lease } => {
                let put = Writer::default().bytes(1, key).bytes(2, value);
                (2, put.number(3, *lease))
            }
            // The response includes the deleted key.
            Self::Delete(key) => (3, Writer::default().bytes(1, key).number(3, 1)),
        };
        Writer::default().message(kind, &request.finish()).finish()
    }
}

impl Message for Header {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        match field {
            1 => self.cluster = value.number()? as u64,
            3 => self.revision = value.number()? as u64,
            _ => {}
        }
        Ok(())
    }
}

impl Message for KeyValue {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        match field {
            1 => self.key = value.bytes()?,
            3 => self.mod_revision = value.number()? as u64,
            4 => self.version = value.number()?,
            5 => self.value = value.bytes()?,
            _ => {}
        }
        Ok(())
    }
}

impl Message for RangeAnswer {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        match field {
            1 => self.header = Header::read(value.bytes()?)?,
            2 => self.kvs.push(KeyValue::read(value.bytes()?)?),
            3 => self.more = value.number()? != 0,
            4 => self.count = value.number()? as u64,
            _ => {}
        }
        Ok(())
    }
}

impl Message for TxnAnswer {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        match field {
            1 => self.header = Header::read(value.bytes()?)?,
            2 => self.succeeded = value.number()? != 0,
            3 => self.answers.push(OpAnswer::read(value.bytes()?)?),
            _ => {}
        }
        Ok(())
    }
}

impl Message for OpAnswer {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        match field {
            1 => self.kvs = RangeAnswer::read(value.bytes()?)?.kvs,
            3 => self.kvs = Deleted::read(value.bytes()?)?.0,
            _ => {}
        }
        Ok(())
    }
}

/// The deleted keys.
#[derive(Default)]
struct Deleted(Vec<KeyValue>);

impl Message for Deleted {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        if field == 3 {
            self.0.push(KeyValue::read(value.bytes()?)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_one() {
        assert_eq!(after_prefix(b"/registry/"), b"/registry0");
        assert_eq!(after_prefix(b"a\xff"), b"b");
        assert_eq!(after_prefix(b"\xff"), [0]);
    }
}

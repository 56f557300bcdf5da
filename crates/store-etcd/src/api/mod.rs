//! The messages of etcd's v3 API that a store needs, with the field numbers of `rpc.proto` and `kv.proto`.
//!
//! | file | contents |
//! |---|---|
//! | `wire` | protobuf's wire format |
//! | `kv` | ranges, transactions, compaction |
//! | `watch` | watches |
//! | `cluster` | leases, authentication, the status of a member |

mod cluster;
mod kv;
mod watch;
mod wire;

pub(crate) use cluster::{
    LeaseGranted, MemberStatus, Token, authenticate_request, lease_grant_request,
};
pub(crate) use kv::{
    Compare, Header, KeyValue, Op, RangeAnswer, RangeRequest, TxnAnswer, after_prefix,
    compaction_request, txn_request,
};
pub(crate) use watch::{Event, WatchAnswer, create_watch, progress_request};
pub(crate) use wire::{Malformed, Reader};

/// A message that etcd sends.
pub(crate) trait Message: Default {
    /// Sets a field.
    fn set(&mut self, field: u32, value: wire::Value) -> Result<(), Malformed>;

    /// Decodes a message.
    fn read(message: bytes::Bytes) -> Result<Self, Malformed> {
        let mut reader = Reader::new(message);
        let mut read = Self::default();
        while let Some((field, value)) = reader.next()? {
            read.set(field, value)?;
        }
        Ok(read)
    }
}

//! The decoders of messages and files, for fuzz targets. Each accepts arbitrary bytes, and panics if an invariant is violated.

use std::sync::Arc;

use bytes::Bytes;
use kubewright_store::layout::Layout;

use crate::{
    api::{
        KeyValue, LeaseGranted, MemberStatus, Message, RangeAnswer, Token, TxnAnswer, WatchAnswer,
    },
    grpc, snapshot,
};

/// Decodes the bytes as each message that etcd sends, and as a stream of messages.
pub fn messages(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let _ = RangeAnswer::read(bytes.clone());
    let _ = TxnAnswer::read(bytes.clone());
    let _ = WatchAnswer::read(bytes.clone());
    let _ = LeaseGranted::read(bytes.clone());
    let _ = MemberStatus::read(bytes.clone());
    let _ = Token::read(bytes.clone());
    if let Ok(kv) = KeyValue::read(bytes) {
        assert!(kv.key.len() + kv.value.len() <= data.len());
    }
    let whole = grpc::messages_of(&[data]);
    let (head, tail) = data.split_at(data.len() / 2);
    assert_eq!(
        grpc::messages_of(&[head, tail]),
        whole,
        "a message depends on where the stream is cut"
    );
}

/// Reads the bytes as a snapshot file, and returns the number of its objects if it is one.
pub fn snapshot(bytes: &[u8], layout: Arc<dyn Layout>) -> Option<usize> {
    snapshot::count_objects(bytes, layout)
}

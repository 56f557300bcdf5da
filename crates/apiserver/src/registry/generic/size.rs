//! The size of stored objects, which is bounded as etcd bounds it.

use bytes::Bytes;
use kubewright_machinery::{Status, limits::MAX_OBJECT_BYTES, status};

use super::{super::Shape, Generic};
use crate::object::stored_value;

/// The maximum size of a message that kube-apiserver's client of etcd sends, in bytes.
const MAX_MESSAGE: usize = 2 << 20;

impl Generic {
    /// Rejects an object that etcd would reject for its size, with the messages of kube-apiserver.
    ///
    /// kube-apiserver stores built-in kinds in protobuf, which is smaller than JSON. So the size in protobuf counts for them, but it
    /// is computed only if the JSON is too large.
    pub(super) fn check_size(&self, bytes: &Bytes) -> Result<(), Status> {
        if bytes.len() <= MAX_OBJECT_BYTES {
            return Ok(());
        }
        let size = match self.spec.shape {
            Shape::Typed(_) => kubewright_protobuf::encode(&stored_value(bytes))
                .map_or(bytes.len(), |message| message.len()),
            Shape::Untyped => bytes.len(),
        };
        if size <= MAX_OBJECT_BYTES {
            return Ok(());
        }
        let text = match size <= MAX_MESSAGE {
            true => "etcdserver: request is too large".to_owned(),
            false => format!(
                "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. {MAX_MESSAGE})"
            ),
        };
        Err(status::unknown(text))
    }
}

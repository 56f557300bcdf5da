//! Snapshot files of etcd that somebody has written to.

use std::{
    path::Path,
    sync::{Arc, LazyLock},
};

use kubewright_kube_apiserver::StorageLayout;
use kubewright_store_etcd::fuzzing::snapshot;

/// A snapshot with built-in and custom objects, as `etcdctl snapshot save` writes it.
static FIXTURE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/store-etcd/tests/snapshot.db");
    let mut bytes = std::fs::read(path).expect("the fixture");
    // Without the checksum, which would reject every change.
    bytes.truncate(bytes.len() / 512 * 512);
    bytes
});

/// Applies the input to a snapshot file as a list of changes of 8 bytes: the position, and a mask for a byte or zero to cut the file
/// off. An input that starts with `raw:` is a whole file.
pub(crate) fn snapshots(data: &[u8]) {
    let layout = || Arc::new(StorageLayout::json());
    if let Some(raw) = data.strip_prefix(b"raw:") {
        snapshot(raw, layout());
        return;
    }
    let mut bytes = FIXTURE.clone();
    for change in data.as_chunks::<8>().0 {
        let position = u32::from_le_bytes([change[0], change[1], change[2], change[3]]);
        let position = position as usize % bytes.len().max(1);
        match (change[4], bytes.get_mut(position)) {
            (0, _) => bytes.truncate(position),
            (mask, Some(byte)) => *byte ^= mask,
            (_, None) => {}
        }
    }
    let objects = snapshot(&bytes, layout());
    assert!(!data.is_empty() || objects == Some(5), "{objects:?}");
}

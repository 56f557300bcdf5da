//! [`OwnWrites`]: writes of this store that the watch has not delivered yet.
//!
//! Their values need not be decoded when the watch delivers them, since the writer still has the objects.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use kubewright_store::Payload;
use parking_lot::Mutex;

/// Writes by name.
#[derive(Default)]
pub(crate) struct OwnWrites {
    by_name: Mutex<HashMap<Bytes, Vec<Pending>>>,
    next: AtomicU64,
}

/// A pending write, until it is dropped.
pub(crate) struct OwnWrite<'a> {
    writes: &'a OwnWrites,
    name: Bytes,
    id: u64,
}

struct Pending {
    id: u64,
    value: Bytes,
    payload: Payload,
}

impl OwnWrites {
    /// Adds a pending write.
    pub(crate) fn add(&self, name: &Bytes, value: &Bytes, payload: &Payload) -> OwnWrite<'_> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let pending = Pending {
            id,
            value: value.clone(),
            payload: payload.clone(),
        };
        let mut by_name = self.by_name.lock();
        by_name.entry(name.clone()).or_default().push(pending);
        OwnWrite {
            writes: self,
            name: name.clone(),
            id,
        }
    }

    /// Returns the object of a value if it is pending.
    pub(crate) fn find(&self, name: &[u8], value: &[u8]) -> Option<Payload> {
        let by_name = self.by_name.lock();
        let pending = by_name.get(name)?;
        let same = pending.iter().find(|pending| pending.value == value)?;
        Some(same.payload.clone())
    }
}

impl Drop for OwnWrite<'_> {
    fn drop(&mut self) {
        let mut by_name = self.writes.by_name.lock();
        if let Some(pending) = by_name.get_mut(&self.name) {
            pending.retain(|pending| pending.id != self.id);
            if pending.is_empty() {
                by_name.remove(&self.name);
            }
        }
    }
}

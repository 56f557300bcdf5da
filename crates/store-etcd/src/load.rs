//! Reads all objects at one revision, page by page.

use std::{sync::Arc, time::Duration};

use kubewright_store::{Revision, engine::Stored};

use crate::{
    api::{KeyValue, RangeAnswer, RangeRequest, after_prefix},
    grpc::{CallError, Channel},
    shared::{Names, Shared, Unreadable},
};

/// The number of keys in a page.
const PAGE: i64 = 500;
/// The time limit of a page.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const RANGE: &str = "/etcdserverpb.KV/Range";

/// The objects at a revision, by collection.
pub(crate) struct Loaded {
    pub(crate) revision: Revision,
    pub(crate) objects: Vec<(Arc<str>, Stored)>,
    pub(crate) unreadable: Vec<Unreadable>,
    /// The number of keys that are not objects.
    pub(crate) others: u64,
}

/// Reads all objects at a revision (default: the newest).
pub(crate) async fn load(
    channel: &Channel,
    names: &Names,
    at: Option<Revision>,
) -> Result<Loaded, CallError> {
    let end = after_prefix(names.prefix().as_bytes());
    let mut key = names.prefix().as_bytes().to_vec();
    let mut loaded = Loaded {
        revision: at.unwrap_or_default(),
        objects: Vec::new(),
        unreadable: Vec::new(),
        others: 0,
    };
    loop {
        let request = RangeRequest {
            key: &key,
            end: &end,
            limit: PAGE,
            revision: loaded.revision.0,
            ..RangeRequest::default()
        };
        let page: RangeAnswer = channel.read(RANGE, &request.encode(), PATIENCE).await?;
        if loaded.revision == Revision(0) {
            loaded.revision = Revision(page.header.revision);
        }
        for kv in &page.kvs {
            loaded.add(names, kv);
        }
        let Some(last) = page.kvs.last().filter(|_| page.more) else {
            return Ok(loaded);
        };
        key = last.key.to_vec();
        key.push(0);
    }
}

impl Loaded {
    /// Adds a key.
    pub(crate) fn add(&mut self, names: &Names, kv: &KeyValue) {
        let Some(key) = names.key(&kv.key) else {
            self.others += 1;
            return;
        };
        match names.layout.decode(&key, &kv.value) {
            Ok(payload) => {
                let revision = Revision(kv.mod_revision);
                let stored = Stored {
                    path: key.path,
                    revision,
                    bytes: payload.spliced(revision),
                    revision_at: payload.revision_at,
                    lifetime: None,
                };
                // Consecutive names of the same collection share memory.
                let last = self.objects.last().map(|(name, _)| name);
                let shared = last.filter(|last| **last == key.collection).cloned();
                let collection = shared.unwrap_or(key.collection);
                self.objects.push((collection, stored));
            }
            Err(reason) => self.unreadable.push(Unreadable::new(&kv.key, &*reason)),
        }
    }

    /// Logs unreadable values.
    pub(crate) fn report(&self, shared: &Shared) {
        for error in &self.unreadable {
            shared.note_unreadable(error);
        }
    }
}

//! [`Encoded`]: the encoded forms of objects that a storage keeps and returns again.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use kubewright_apiserver::Object;
use parking_lot::Mutex;

/// The number of objects from which those that are gone are removed.
const SMALL: usize = 1024;

/// Objects by their address. An address is not used again while a `Weak` refers to it, so it identifies the object, which does not
/// change behind an `Arc`.
pub(crate) struct Encoded<K>(Mutex<Table<K>>);

struct Table<K> {
    objects: HashMap<usize, (Weak<K>, Object)>,
    /// The number of objects at which those that are gone are removed.
    limit: usize,
}

impl<K> Default for Encoded<K> {
    fn default() -> Self {
        Self(Mutex::new(Table {
            objects: HashMap::new(),
            limit: SMALL,
        }))
    }
}

impl<K> Encoded<K> {
    /// Returns the known forms of objects, in order.
    pub(crate) fn known(&self, objects: &[Arc<K>]) -> Vec<Option<Object>> {
        let table = self.0.lock();
        let known = |object: &Arc<K>| table.objects.get(&address(object));
        let known = objects
            .iter()
            .map(|object| known(object).map(|(_, o)| o.clone()));
        known.collect()
    }

    /// Remembers the form of an object, unless only the caller has it.
    pub(crate) fn remember(&self, object: &Arc<K>, encoded: &Object) {
        if Arc::strong_count(object) == 1 {
            return;
        }
        let mut table = self.0.lock();
        if table.objects.len() >= table.limit {
            table.objects.retain(|_, (kept, _)| kept.strong_count() > 0);
            table.limit = SMALL.max(table.objects.len() * 2);
        }
        let encoded = Object {
            // Without the spare room that it was written with.
            bytes: Bytes::copy_from_slice(&encoded.bytes),
            summary: encoded.summary.clone(),
        };
        let entry = (Arc::downgrade(object), encoded);
        table.objects.insert(address(object), entry);
    }
}

fn address<K>(object: &Arc<K>) -> usize {
    Arc::as_ptr(object).addr()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(name: &str) -> Object {
        Object::from_value(&json!({"metadata": {"name": name}}))
    }

    #[test]
    fn shared_objects_are_encoded_once() {
        let encoded = Encoded::default();
        let (kept, lent) = (Arc::new("kept"), Arc::new("lent"));
        let clone = kept.clone();
        for object in [&clone, &lent] {
            encoded.remember(object, &form(object));
        }
        let known = encoded.known(&[lent, kept]);
        assert!(known[0].is_none());
        assert_eq!(&*known[1].as_ref().unwrap().summary.name, "kept");
    }

    #[test]
    fn objects_that_are_gone_are_removed() {
        let encoded = Encoded::default();
        let kept: Vec<Arc<usize>> = (0..10).map(Arc::new).collect();
        for round in 0..5 {
            let others: Vec<Arc<usize>> = (0..SMALL).map(|n| Arc::new(round * SMALL + n)).collect();
            for object in kept.iter().chain(&others) {
                encoded.remember(&object.clone(), &form("any"));
            }
        }
        let len = encoded.0.lock().objects.len();
        assert!((10..3 * SMALL).contains(&len), "{len}");
        assert!(encoded.known(&kept).iter().all(Option::is_some));
    }
}

//! [`Decoded`]: the decoded values that a cache keeps, within [`DecodedLimits`].
//!
//! A value in use is always shared. Beyond that, the value of an object that is decoded for the second time
//! is kept, so that reconciles which read unchanged objects do not decode them again, and objects that change between
//! reads, or are read only once, take no memory. A kept value belongs to one version of the object and is dropped with
//! it. When there is no room, a value is dropped that has not been read since it was last considered.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::stored::StoredObject;

/// A decoded value of any type.
pub(super) type Value = Arc<dyn Any + Send + Sync>;

/// Bounds the decoded values that a cache keeps when they are not in use. Objects are kept as JSON in any case.
///
/// ```
/// use kubewright_informer::DecodedLimits;
///
/// let limits = DecodedLimits { values: 1000, ..DecodedLimits::default() };
/// assert_eq!(limits.json_bytes, 32 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedLimits {
    /// The maximum number of values; 0 to keep none. Defaults to 16,384.
    pub values: usize,
    /// The maximum size of the JSON that the values were decoded from. The values take up to ten times as much memory.
    /// Defaults to 32 MiB.
    pub json_bytes: usize,
}

/// The state of an object's decoded value.
#[derive(Debug, Default)]
pub(super) enum Typed {
    /// Never decoded.
    #[default]
    New,
    /// Decoded, and available while it is in use. The weak reference keeps the memory of the value itself.
    Held(Weak<dyn Any + Send + Sync>),
    /// Decoded before.
    Seen,
    /// Kept, and whether it has been read since the cache last looked for room.
    Kept { value: Value, used: bool },
}

/// The decoded values of one cache.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    limits: DecodedLimits,
    kept: Mutex<Kept>,
    /// Objects whose state is [`Typed::Held`], to free the memory of values that are no longer in use.
    held: Mutex<VecDeque<Weak<StoredObject>>>,
}

/// All changes from and to [`Typed::Kept`] happen under its lock, except that an object is dropped.
#[derive(Debug, Default)]
struct Kept {
    /// The objects, those to consider first in front. Some have been dropped.
    objects: VecDeque<Weak<StoredObject>>,
    values: usize,
    json_bytes: usize,
}

/// The number of values that are considered for each one that is kept.
const CONSIDERED: usize = 2;

impl Default for DecodedLimits {
    fn default() -> Self {
        Self {
            values: 16_384,
            json_bytes: 32 << 20,
        }
    }
}

impl Decoded {
    pub(super) fn new(limits: DecodedLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Keeps a value if there is room, and returns whether it did.
    pub(super) fn keep(&self, object: &Arc<StoredObject>, value: &Value) -> bool {
        let size = object.json_length();
        // Dropped after the lock is released: an object that is dropped takes it.
        let mut dropped: Vec<(Option<Arc<StoredObject>>, Option<Value>)> = Vec::new();
        let mut kept = self.kept.lock();
        for _ in 0..CONSIDERED {
            if self.fits(&kept, size) {
                break;
            }
            let Some(oldest) = kept.objects.pop_front() else {
                break;
            };
            let Some(candidate) = oldest.upgrade() else {
                continue;
            };
            let released = candidate.typed.lock().release();
            match &released {
                Some(_) => kept.remove(candidate.json_length()),
                None => kept.objects.push_back(oldest),
            }
            dropped.push((Some(candidate), released));
        }
        if !self.fits(&kept, size) {
            return false;
        }
        let mut typed = object.typed.lock();
        if !matches!(*typed, Typed::Kept { .. }) {
            *typed = Typed::Kept {
                value: value.clone(),
                used: false,
            };
            kept.add(object, size);
        }
        drop(typed);
        drop(kept);
        true
    }

    /// Notes that an object with a kept value was dropped.
    pub(super) fn dropped(&self, size: usize) {
        self.kept.lock().remove(size);
    }

    /// Records that `object` has a value in use, and frees values of other objects that are no longer in use.
    pub(super) fn hold(&self, object: &Arc<StoredObject>) {
        let mut held = self.held.lock();
        held.push_back(Arc::downgrade(object));
        // Dropped after the lock is released.
        let mut considered = [None, None];
        for slot in &mut considered {
            let Some(oldest) = held.pop_front() else {
                break;
            };
            *slot = oldest.upgrade();
            if slot
                .as_ref()
                .is_some_and(|object| object.typed.lock().is_held())
            {
                held.push_back(oldest);
            }
        }
        drop(held);
    }

    fn fits(&self, kept: &Kept, size: usize) -> bool {
        kept.values < self.limits.values && kept.json_bytes + size <= self.limits.json_bytes
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        let kept = self.kept.lock();
        (kept.values, kept.json_bytes)
    }
}

impl Kept {
    fn add(&mut self, object: &Arc<StoredObject>, size: usize) {
        self.values += 1;
        self.json_bytes += size;
        // Dropped objects leave their entries; at most as many as there are values stay.
        if self.objects.len() > 2 * self.values + 64 {
            self.objects.retain(|object| object.strong_count() > 0);
        }
        self.objects.push_back(Arc::downgrade(object));
    }

    fn remove(&mut self, size: usize) {
        self.values -= 1;
        self.json_bytes -= size;
    }
}

impl Typed {
    /// Returns the known value.
    pub(super) fn value(&mut self) -> Option<Value> {
        match self {
            Self::Kept { value, used } => {
                *used = true;
                Some(value.clone())
            }
            Self::Held(value) => value.upgrade(),
            Self::New | Self::Seen => None,
        }
    }

    /// Takes a kept value that has not been read since the last time.
    fn release(&mut self) -> Option<Value> {
        match self {
            Self::Kept { used: true, .. } => {
                if let Self::Kept { used, .. } = self {
                    *used = false;
                }
                None
            }
            Self::Kept { .. } => match std::mem::replace(self, Self::Seen) {
                Self::Kept { value, .. } => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reports whether the value is in use, and frees it otherwise.
    fn is_held(&mut self) -> bool {
        match self {
            Self::Held(value) if value.strong_count() == 0 => {
                *self = Self::Seen;
                false
            }
            Self::Held(_) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ApiResource;

    use super::*;
    use crate::object::{Compression, Ingest, ObjectKind};

    fn kind(values: usize, json_bytes: usize) -> Arc<ObjectKind> {
        let limits = DecodedLimits { values, json_bytes };
        let resource = ApiResource::erase::<ConfigMap>(&());
        ObjectKind::with_limits(resource, Compression::None, limits)
    }

    fn objects(kind: &Arc<ObjectKind>, count: usize) -> Vec<Arc<StoredObject>> {
        let ingest = Ingest::new(kind.clone());
        (0..count)
            .map(|i| {
                let json = format!(
                    r#"{{"metadata":{{"name":"m{i:04}","uid":"{i:04}","resourceVersion":"7"}}}}"#
                );
                ingest.object(json.as_bytes()).unwrap()
            })
            .collect()
    }

    /// Reads all objects, and returns how many of them were not decoded again.
    fn sweep(objects: &[Arc<StoredObject>]) -> usize {
        let kept = |object: &&Arc<StoredObject>| matches!(*object.typed.lock(), Typed::Kept { .. });
        let count = objects.iter().filter(kept).count();
        for object in objects {
            object.decode::<ConfigMap>().unwrap();
        }
        count
    }

    #[test]
    fn a_value_is_kept_from_the_second_reading_on() {
        let kind = kind(10, 1 << 20);
        let objects = objects(&kind, 3);
        assert_eq!(sweep(&objects), 0);
        assert_eq!(kind.decoded.kept().0, 0);
        assert_eq!(sweep(&objects), 0);
        assert_eq!(sweep(&objects), 3);
        let one = objects[0].decode::<ConfigMap>().unwrap();
        assert!(Arc::ptr_eq(&one, &objects[0].decode().unwrap()));
        assert_eq!(kind.decoded.kept(), (3, 3 * objects[0].json_length()));
        drop(objects);
        assert_eq!(kind.decoded.kept(), (0, 0));
    }

    #[test]
    fn neither_limit_is_exceeded_and_those_in_use_stay() {
        let size = objects(&kind(0, 0), 1)[0].json_length();
        for kind in [kind(40, 1 << 20), kind(1000, 40 * size)] {
            let objects = objects(&kind, 100);
            for _ in 0..6 {
                sweep(&objects);
                assert!(kind.decoded.kept().0 <= 40);
                assert!(kind.decoded.kept().1 <= 40 * size);
            }
            // Reading all of them in turn must not displace every value before it is read again.
            let few = &objects[..50];
            for _ in 0..6 {
                sweep(few);
            }
            assert!(sweep(few) >= 30, "{}", sweep(few));
        }
    }

    #[test]
    fn values_that_are_no_longer_read_are_evicted() {
        let kind = kind(10, 1 << 20);
        let objects = objects(&kind, 20);
        let (old, new) = objects.split_at(10);
        for _ in 0..3 {
            sweep(old);
        }
        for _ in 0..8 {
            sweep(new);
        }
        assert_eq!(sweep(new), 10);
    }

    #[test]
    fn nothing_is_kept_without_room() {
        let kind = kind(0, 1 << 20);
        let objects = objects(&kind, 3);
        for _ in 0..3 {
            assert_eq!(sweep(&objects), 0);
        }
        // A value that somebody holds is shared all the same.
        let held = objects[0].decode::<ConfigMap>().unwrap();
        assert!(Arc::ptr_eq(&held, &objects[0].decode().unwrap()));
    }

    #[test]
    fn entries_of_dropped_objects_do_not_pile_up() {
        let kind = kind(10, 1 << 20);
        for _ in 0..200 {
            let objects = objects(&kind, 5);
            sweep(&objects);
            sweep(&objects);
        }
        assert_eq!(kind.decoded.kept(), (0, 0));
        assert!(kind.decoded.kept.lock().objects.len() < 100);
    }

    #[test]
    fn threads_share_values_and_the_counts_stay_right() {
        let kind = kind(20, 1 << 20);
        let objects = objects(&kind, 50);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let objects = &objects;
                scope.spawn(move || {
                    for i in 0..5000 {
                        let object = &objects[(i * (thread + 1)) % objects.len()];
                        let value = object.decode::<ConfigMap>().unwrap();
                        assert_eq!(value.metadata.name.as_deref(), Some(object.name()));
                    }
                });
            }
        });
        let kept = |object: &&Arc<StoredObject>| matches!(*object.typed.lock(), Typed::Kept { .. });
        assert_eq!(objects.iter().filter(kept).count(), kind.decoded.kept().0);
        drop(objects);
        assert_eq!(kind.decoded.kept(), (0, 0));
    }
}

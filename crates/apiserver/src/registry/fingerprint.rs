//! [`Fingerprint`]: recognises a change that was made before.
//!
//! Controllers apply the same configuration at every reconciliation. A change that left an object as it is does so again,
//! until another write changes the object; so the summary of a stored object remembers the last such change.

use std::{
    hash::{BuildHasher, Hash, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// A hash of everything that a change depends on, besides the object: two changes with the same fingerprint do the same to the
/// same object. The hash is keyed with a secret of the process, so that clients cannot construct two changes with one hash.
///
/// ```
/// use kubewright_apiserver::registry::Fingerprint;
///
/// let apply = |body: &str| Fingerprint::of(&("manager", body));
/// assert_eq!(apply("{}"), apply("{}"));
/// assert_ne!(apply("{}"), apply("[]"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Returns the fingerprint of a change.
    pub fn of(change: &impl Hash) -> Self {
        static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        Self(KEY.hash_one(change).max(1))
    }
}

/// The last change that did not modify an object. Not part of the object's equality.
#[derive(Debug, Default)]
pub(crate) struct NoOp(AtomicU64);

impl NoOp {
    /// Remembers a change.
    pub(crate) fn remember(&self, change: Fingerprint) {
        // Nothing else depends on it: a reader that misses it computes the change.
        self.0.store(change.0, Ordering::Relaxed);
    }

    /// Returns whether this was the last change.
    pub(crate) fn is(&self, change: Fingerprint) -> bool {
        self.0.load(Ordering::Relaxed) == change.0
    }
}

impl Clone for NoOp {
    /// A clone may become the summary of another object, so it knows nothing.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for NoOp {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NoOp {}

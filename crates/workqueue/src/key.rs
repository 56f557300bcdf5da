//! The bounds of a queue's keys.

use std::hash::Hash;

/// A key of a queue: any type that can be hashed, compared, cloned and sent to another thread. Implemented for every
/// such type.
pub trait Key: Hash + Eq + Clone + Send + 'static {}

impl<K: Hash + Eq + Clone + Send + 'static> Key for K {}

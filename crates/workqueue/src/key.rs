//! What a queue can hold.

use std::hash::Hash;

/// A key of a queue: anything that can be hashed, compared and cloned, and sent to another thread. Every such type is one.
pub trait Key: Hash + Eq + Clone + Send + 'static {}

impl<K: Hash + Eq + Clone + Send + 'static> Key for K {}

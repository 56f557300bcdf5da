//! The cache itself: objects by key, and by whatever index functions say.
//!
//! | module | what it holds |
//! |---|---|
//! | [`indexer`] | [`Indexer`]: what is written by one and read by all |
//! | [`snapshot`] | [`Snapshot`]: one state of the cache |
//! | [`index`] | [`IndexFn`]: by what else objects are found |
//! | `trie` | the persistent map under all of it |
//!
//! Invariants: a reader takes a state with one atomic load and keeps it as long as it likes; the writer never waits for
//! readers; objects, indices and resourceVersion of a state belong together.

pub mod index;
pub mod indexer;
pub mod snapshot;
mod trie;

pub use index::{IndexError, IndexFn};
pub use indexer::{Indexer, VersionError};
pub use snapshot::Snapshot;

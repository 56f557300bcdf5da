//! The cache: objects by key and by index.
//!
//! | module | contents |
//! |---|---|
//! | `indexer` | [`Indexer`]: the cache, with one writer and many readers |
//! | `snapshot` | [`Snapshot`]: one state of the cache |
//! | `index` | [`IndexFn`]: the values under which objects are found |
//! | `trie` | the persistent map under all of it |
//!
//! Invariants: a reader takes a state with one atomic load and keeps it as long as it likes; the writer never waits for
//! readers; objects, indices and resource version of a state belong together.

pub(crate) mod index;
pub(crate) mod indexer;
pub(crate) mod snapshot;
pub(crate) mod trie;

pub use index::{IndexError, IndexFn};
pub use indexer::{Indexer, NAMESPACE_INDEX, VersionError};
pub use snapshot::Snapshot;

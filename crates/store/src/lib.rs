//! The storage port, the in-memory MVCC store, and the conformance suite every store passes.

pub mod conformance;
pub mod memory;
pub mod port;
pub mod splice;

pub use memory::MemoryStore;
pub use port::*;

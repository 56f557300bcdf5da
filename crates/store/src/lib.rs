//! The storage port, the in-memory MVCC store, and the conformance suite every store passes.

pub mod port;
pub use port::*;

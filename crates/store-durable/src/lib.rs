//! A persistent store in a local directory: a write-ahead log and checkpoints below the in-memory store.
//!
//! Readers and watchers use a [`MemoryStore`](kubewright_store::MemoryStore), so that a read costs the same as there. A write
//! is validated against a staged state, grouped with concurrent writes, and acknowledged once the group is on disk. Data that
//! is not on disk is never visible to readers. All objects must fit into memory.
//!
//! ```
//! use kubewright_store::{Key, Payload, Store};
//! use kubewright_store_durable::{DurableStore, Options};
//!
//! # let directory = std::env::temp_dir().join(format!("kubewright-durable-{}", std::process::id()));
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let key = Key::new("pods", "default/web");
//! let store = DurableStore::open(&directory, Options::default())?;
//! let written = store.create(key.clone(), Payload::plain("{}")).await?;
//! store.close();
//! drop(store);
//!
//! let store = DurableStore::open(&directory, Options::default())?;
//! let read = store.get(&key).await?.expect("an object");
//! assert_eq!((read.revision, read.bytes), (written.revision, written.bytes));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! # std::fs::remove_dir_all(&directory).unwrap();
//! ```
//!
//! `format/mod.rs` describes the file format, `engine/mod.rs` the invariants of commits, and `log/reader.rs` how the end of
//! the log is distinguished from damage.

#[macro_use]
mod planted;

mod archive;
mod checkpoint;
mod clock;
mod directory;
mod disk;
mod engine;
mod error;
mod format;
#[doc(hidden)]
pub mod fuzzing;
mod lock;
mod log;
mod metrics;
mod options;
mod recovery;
mod stats;
mod store;
#[cfg(test)]
mod tests;
mod threads;
pub mod tools;

pub use clock::Clock;
pub use engine::OpenReport;
pub use error::{Damage, OpenError};
pub use options::{Options, SyncMode, SyncModeError};
pub use stats::Stats;
pub use store::{DurableStore, StoreHealth};

//! A store on the disk of one machine: a log of commits, and checkpoints, under the store in memory.
//!
//! Readers and watchers use a [`MemoryStore`](kubewright_store::MemoryStore), so a read costs what it costs there. A write is
//! validated against a state ahead of it, put into a group with all others that wait, and acknowledged when the group is on disk.
//! Nothing that is not on disk is ever seen by anyone. All objects must fit into memory.
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
//! The format of the files is described in `format/mod.rs`, the rules of commits in `engine/mod.rs`, and what counts as damage
//! in `log/reader.rs`.

#[macro_use]
mod planted;

mod checkpoint;
mod clock;
mod directory;
mod disk;
mod engine;
mod error;
mod format;
mod lock;
mod log;
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

//! A store in etcd with the layout of kube-apiserver, for clusters with several servers.
//!
//! Writes are transactions of etcd. Reads are served from a [`MemoryStore`](kubewright_store::MemoryStore), which a watch of
//! the whole prefix keeps up to date. A read first requests the newest revision from etcd, in one call for all waiting
//! readers, so that it sees every write that any server acknowledged before. Any number of servers can share an etcd. All
//! objects must fit into memory.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use kubewright_store::{Key, Payload, Store, layout::PlainLayout};
//! use kubewright_store_etcd::{EtcdStore, Options};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Options {
//!     prefix: "/example".to_owned(),
//!     ..Options::new(["http://127.0.0.1:2379"])
//! };
//! let store = EtcdStore::connect(&options, Arc::new(PlainLayout)).await?;
//! let key = Key::new("pods", "default/web");
//! let written = store.create(key.clone(), Payload::plain("{}")).await?;
//! assert_eq!(store.get(&key).await?.expect("an object").revision, written.revision);
//! # Ok(())
//! # }
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `api` | the messages of etcd's API |
//! | `grpc` | calls to any available member |
//! | `open`, `load` | checks of the members, and reading of all objects at one revision |
//! | `feed` | the watch that keeps memory up to date |
//! | `direct` | reads of etcd itself while the watch is interrupted |
//! | `check` | comparison of memory with etcd |
//! | `quorum` | the newest revision, for consistent reads |
//! | `write`, `lease`, `own_writes` | transactions, and recovery of lost responses |
//! | `snapshot` | copies of an etcd or of its snapshot file, in memory |
//! | `compaction` | compaction, coordinated with other servers |

mod api;
mod check;
mod compaction;
mod direct;
mod error;
mod feed;
#[doc(hidden)]
pub mod fuzzing;
mod grpc;
mod lease;
mod load;
mod open;
mod options;
mod own_writes;
mod quorum;
mod shared;
mod snapshot;
mod store;
mod write;

pub use error::OpenError;
pub use grpc::{TlsFiles, TlsFilesError};
pub use options::{Occupants, Options};
pub use snapshot::{EtcdFork, SnapshotError};
pub use store::EtcdStore;

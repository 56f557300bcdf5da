//! The storage interface of the API server, an in-memory MVCC store, and the conformance suite of stores.
//!
//! A store knows keys, bytes and revisions, and nothing about Kubernetes. Writes are compare-and-swap on the revision of an
//! object; reads see the state at one revision; a watch returns every change after a revision, in order and without gaps.
//!
//! | item | contents |
//! |---|---|
//! | [`Store`], [`Snapshot`], [`Watch`] | the traits, and their types |
//! | [`MemoryStore`], [`Limits`] | a store in memory, which can be forked in constant time |
//! | [`conformance`] | the contract of the traits as checks that the tests of any store can run |
//! | [`engine`] | writes ahead of readers, for implementors of stores that serve reads from memory |
//! | [`layout`] | the keys and values of a backend that others use too, for implementors of stores |
//! | [`Failure`] | an error of a backend that says what the caller can do about it |
//! | [`splice`] | the revision inside the bytes of an object, for implementors of stores |
//!
//! ```
//! use kubewright_store::{ChangeKind, Key, MemoryStore, Payload, Range, Store};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let store = MemoryStore::new();
//! let object = |says: &str| Payload {
//!     // The digits of the revision go between the quotes.
//!     revision_at: Some(7),
//!     ..Payload::plain(format!(r#"{{"rv":"","says":"{says}"}}"#))
//! };
//!
//! // Watch from before the first write on.
//! let mut watch = store.watch("pods", "default/", store.current().await?).await?;
//!
//! let key = Key::new("pods", "default/web");
//! let first = store.create(key.clone(), object("hello")).await?;
//! assert_eq!(first.bytes, r#"{"rv":"1","says":"hello"}"#);
//!
//! // An update names the revision that it replaces; a second one of the same revision is a conflict.
//! let second = store.update(key.clone(), first.revision, object("world")).await?;
//! assert!(second.changed);
//! assert!(store.update(key.clone(), first.revision, object("late")).await.is_err());
//!
//! // The past can be read, until it is compacted.
//! let then = store.snapshot(Some(first.revision)).await?;
//! let page = then.range("pods", Range::default()).await?;
//! assert_eq!(page.entries[0].bytes, first.bytes);
//!
//! // A fork has the same past and its own future.
//! let fork = store.fork();
//! fork.delete(key.clone(), second.entry.revision).await?;
//! assert!(store.get(&key).await?.is_some());
//!
//! let changes = watch.next().await?;
//! assert_eq!(changes[0].kind, ChangeKind::Created);
//! assert_eq!(changes[1].kind, ChangeKind::Updated);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

pub mod conformance;
pub mod engine;
mod failure;
pub mod layout;
mod memory;
mod port;
pub mod splice;

pub use failure::{Failure, FailureKind};
pub use memory::{COMPACTION_INTERVAL, Limits, MemoryStore};
pub use port::{
    BackendError, Change, ChangeKind, Decoded, Entry, Key, Page, Payload, Range, ReadError,
    Revision, Snapshot, Store, Updated, Watch, WatchError, WriteError,
};

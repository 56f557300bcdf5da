//! Parts for engines that keep objects elsewhere (on disk, or in etcd) and serve reads from memory.
//!
//! An engine has a [`MemoryStore`](crate::MemoryStore) that readers and watchers use: the *published* state. Writes are validated against a
//! [`Staged`] state that is ahead of it. Once the engine has made them durable, it publishes them all at once; if it
//! cannot, it drops them. Neither costs more than a reference count, since the trees are persistent.
//!
//! ```
//! use kubewright_store::{Key, MemoryStore, Payload, Store, engine::Staged};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let published = MemoryStore::new();
//! let mut staged = Staged::of(&published);
//! let key = Key::new("pods", "default/web");
//! staged.create(key.clone(), Payload::plain("{}"))?;
//! assert!(published.get(&key).await?.is_none());
//!
//! staged.take().publish();
//! assert!(published.get(&key).await?.is_some());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

pub use crate::memory::{Applied, Contents, Staged, Stored, Unpublished};

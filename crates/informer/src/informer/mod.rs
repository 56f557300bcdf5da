//! One cache that many share: [`SharedInformer`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`shared`] | [`SharedInformer`]: handlers, indices, sync, seen as a `K` |
//! | [`config`] | [`InformerConfig`]: what is cached, and how |
//! | [`status`] | [`NotSynced`]: why a cache is not filled |
//! | `core` | the informer itself, of any kind, and the leases that keep it running |
//! | `processor` | from deltas to the cache and to events |

pub mod config;
pub(crate) mod core;
mod processor;
pub mod shared;
pub mod status;

pub use config::{InformerConfig, Namespaces};
pub use shared::SharedInformer;
pub use status::NotSynced;

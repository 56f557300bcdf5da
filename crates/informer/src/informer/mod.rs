//! [`SharedInformer`]: one cache that many readers share.
//!
//! | module | contents |
//! |---|---|
//! | `shared` | [`SharedInformer`]: handlers, indices, sync |
//! | `config` | [`InformerConfig`]: the contents of a cache |
//! | `status` | [`NotSynced`]: why a cache is not filled |
//! | `core` | the informer of any kind, and the leases that keep it running |
//! | `processor` | from deltas to the cache and to events |

pub(crate) mod config;
pub(crate) mod core;
pub(crate) mod processor;
pub(crate) mod shared;
pub(crate) mod status;

pub use config::{InformerConfig, Namespaces};
pub use shared::SharedInformer;
pub use status::NotSynced;

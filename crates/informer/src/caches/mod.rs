//! The other caches and queues of client-go, for those who come looking.
//!
//! | there | here |
//! |---|---|
//! | `ExpirationCache` | [`ExpirationCache`] |
//! | `UndeltaStore` | [`UndeltaStore`] |
//! | `Heap` | [`Heap`] |
//! | `RealFIFO` | [`DeltaQueue`](crate::DeltaQueue): in order, a relist is one [`Delta::Replaced`](crate::Delta::Replaced), a resync one [`Delta::Sync`](crate::Delta::Sync) |
//! | `DeltaFIFO` | [`DeltaQueue::coalescing`](crate::DeltaQueue::coalescing): one pending change an object, two deletions become one. It has no tombstones, because a deletion that a list found out is made where the cache is: [`Event::Deleted`](crate::Event::Deleted) with `exact: false` |
//! | `FIFO` | the same; nothing else needs it |
//! | `DeletedFinalStateUnknown` | [`Event::Deleted`](crate::Event::Deleted) with `exact: false`: it has the object's last known state, always |
//! | `Store`, `Indexer`, `ThreadSafeStore` | [`Indexer`](crate::Indexer) |
//! | `MutationDetector` | nothing: what is shared cannot be changed |
//! | `Controller`, `processorListener` | the inside of a [`SharedInformer`](crate::SharedInformer); one reader is a [`Subscription`](crate::Subscription) |
//! | `ListWatch` | [`ListerWatcher`](crate::ListerWatcher) |
//! | `FilteringResourceEventHandler` | [`Event::filtered`](crate::Event::filtered) |

mod expiration;
mod heap;
mod undelta;

pub use expiration::ExpirationCache;
pub use heap::{Heap, HeapError};
pub use undelta::UndeltaStore;

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
//! | `ThreadSafeStore.Transaction` | one batch is one step: readers see all of it or nothing |
//! | `MutationCache` | [`SharedInformer::wait_for`](crate::SharedInformer::wait_for) with the revision of the write's answer. It keeps own writes beside the cache until the cache has them; here one waits until the cache has them, and there is no second state that can be wrong |
//! | consistency store (`WroteAt`, `EnsureReady`) | [`ConsistencyStore`], for controllers that come back later instead of waiting |
//! | `MutationDetector` | nothing: what is shared cannot be changed |
//! | `Controller`, `processorListener` | the inside of a [`SharedInformer`](crate::SharedInformer); one reader is a [`Subscription`](crate::Subscription) |
//! | `synctrack` | [`Registration::synced`](crate::Registration::synced): every reader has its own |
//! | `ListWatch` | [`ListerWatcher`](crate::ListerWatcher) |
//! | `ListPager` | the pages of a [`Reflector`](crate::Reflector); for other lists the client's pager |
//! | `Lister.Get` with NotFound | [`NamespaceLister::get`](crate::NamespaceLister::get): `None` |
//! | `RetryWatcher`, `NewInformerWatcher` | [`SharedInformer::subscribe`](crate::SharedInformer::subscribe): a stream of events that survives what a watch does not |
//! | `UntilWithSync` | reading such a stream until the condition holds |
//! | `FilteringResourceEventHandler` | [`Event::filtered`](crate::Event::filtered) |

mod consistency;
mod expiration;
mod heap;
mod undelta;

pub use consistency::{Behind, ConsistencyStore};
pub use expiration::ExpirationCache;
pub use heap::{Heap, HeapError};
pub use undelta::UndeltaStore;

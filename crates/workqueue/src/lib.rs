//! A work queue of distinct keys, as controllers use it: what is added several times is worked on once, and never by two
//! workers at the same time.
//!
//! It does what the work queues of client-go and of controller-runtime do, in one type: deduplication, delayed and rate
//! limited adds, priorities, metrics, a shutdown that drains. Beyond them: delayed adds can be postponed, replaced and
//! [cancelled](WorkQueue::cancel_delayed); low priorities [do not starve](Builder::ageing); tenants can
//! [take turns](Builder::fair_by); a key is handed back by dropping its [`Item`], so also by a panic; and the drain waits
//! for what is queued, not only for what is being processed. There is nothing of Kubernetes in it.
//!
//! | module | what is there |
//! |---|---|
//! | `queue`, `builder`, `options` | [`WorkQueue`], how one is made, and what can be said with an add |
//! | `get`, `item`, `drain` | the futures, and the [`Item`] a worker has |
//! | [`limiters`] | [`RateLimiter`] and those of client-go |
//! | [`metrics`] | client-go's metrics: told as they happen, or a snapshot as text |
//! | `state` | the whole of the queue's logic, without lock and clock |
//! | `sync`, `clock` | the lock and the time, which is tokio's |
//!
//! The usual worker:
//!
//! ```
//! use kubewright_workqueue::WorkQueue;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
//! async fn reconcile(key: &str, attempt: usize) -> Result<(), String> {
//!     if key == "default/flaky" && attempt < 2 {
//!         return Err("not yet".to_owned());
//!     }
//!     Ok(())
//! }
//!
//! let queue = WorkQueue::<String>::new();
//! let workers: Vec<_> = (0..2)
//!     .map(|_| {
//!         let queue = queue.clone();
//!         tokio::spawn(async move {
//!             while let Some(item) = queue.get().await {
//!                 match reconcile(&item, queue.num_requeues(&item)).await {
//!                     // Its failures are forgotten.
//!                     Ok(()) => queue.forget(&item),
//!                     // Again after 5 ms, 10 ms, 20 ms ...
//!                     Err(_) => queue.add_rate_limited(item.key().clone()),
//!                 }
//!                 // The item is dropped: the key may be handed out again.
//!             }
//!         })
//!     })
//!     .collect();
//!
//! for key in ["default/web", "default/flaky", "default/web"] {
//!     queue.add(key.to_owned());
//! }
//! # tokio::time::sleep(std::time::Duration::from_secs(1)).await;
//! // Nothing new is taken; what is queued is worked on.
//! queue.shut_down_with_drain().await;
//! for worker in workers {
//!     worker.await.unwrap();
//! }
//! assert!(queue.status().is_idle());
//! # });
//! ```
//!
//! ## Bounds
//!
//! A queue is as large as the number of distinct keys it knows; adding never waits and never fails. Whoever makes up
//! keys without end fills memory; keys named after objects cannot. Keys are cloned once when they are handed out: make
//! them cheap to clone, like numbers or `Arc<str>`.

mod builder;
mod clock;
mod drain;
mod get;
mod item;
mod key;
pub mod limiters;
pub mod metrics;
mod options;
mod queue;
mod state;
mod status;
mod sync;

pub use builder::{Builder, Tenant};
pub use drain::Drain;
pub use get::Get;
pub use item::{Item, OwnedItem};
pub use key::Key;
pub use limiters::{
    BucketRateLimiter, ItemExponentialFailureRateLimiter, ItemFastSlowRateLimiter,
    MaxOfRateLimiter, RateLimiter, WithMaxWaitRateLimiter, default_controller_rate_limiter,
    default_item_based_rate_limiter,
};
pub use metrics::{Depth, MetricsProvider, QueueMetrics, QueueSnapshot, write_metrics};
pub use options::{AddOptions, DelayPolicy};
pub use queue::WorkQueue;
pub use status::{QueueStatus, TryGetError};

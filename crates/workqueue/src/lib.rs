//! A work queue of distinct keys for controllers: a key that is added several times is processed once, and never by two
//! workers at the same time.
//!
//! It combines the work queues of client-go and controller-runtime in one type: deduplication, delayed and rate-limited
//! adds, priorities, metrics, shutdown with drain. In addition, delayed adds can be postponed, replaced and
//! [cancelled](WorkQueue::cancel_delayed); low priorities [do not starve](WorkQueueBuilder::ageing); tenants can [take
//! turns](WorkQueueBuilder::fair_by); a key is finished by dropping its [`Item`], so also by a panic; and a drain waits
//! for queued keys, not only for those being processed. Nothing in it is specific to Kubernetes.
//!
//! | module | contents |
//! |---|---|
//! | `queue`, `builder`, `options` | [`WorkQueue`], [`WorkQueueBuilder`], [`AddOptions`] |
//! | `get`, `item`, `drain` | the futures, and the [`Item`] of a worker |
//! | `limiters` | [`RateLimiter`] and client-go's implementations |
//! | `metrics` | client-go's metrics, as callbacks or as snapshots |
//! | `state` | the logic of the queue, without lock and clock |
//! | `sync`, `clock` | the lock, and tokio's time |
//!
//! A typical worker:
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
//!                     // Clears the failures of the key.
//!                     Ok(()) => queue.forget(&item),
//!                     // Retries after 5 ms, 10 ms, 20 ms and so on.
//!                     Err(_) => queue.add_rate_limited(item.key().clone()),
//!                 }
//!                 // Dropping the item makes the key available again.
//!             }
//!         })
//!     })
//!     .collect();
//!
//! for key in ["default/web", "default/flaky", "default/web"] {
//!     queue.add(key.to_owned());
//! }
//! # tokio::time::sleep(std::time::Duration::from_secs(1)).await;
//! // Rejects new keys and waits for the queued ones.
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
//! A queue holds as many entries as it knows distinct keys; adding never waits and never fails. Callers that invent
//! keys without end exhaust memory; keys named after objects cannot. A key is cloned once when it is handed out, so use
//! types that are cheap to clone, such as numbers or `Arc<str>`.

mod builder;
mod clock;
mod drain;
mod get;
mod item;
mod key;
mod limiters;
mod metrics;
mod options;
mod queue;
mod state;
mod status;
mod sync;

pub use builder::{Tenant, WorkQueueBuilder};
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

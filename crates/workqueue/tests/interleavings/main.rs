//! Every order in which threads can meet in the queue, as far as a scheduler can try them.
//!
//! The sources of the crate are compiled here a second time, with the lock of `shuttle` and a clock of the test's own in
//! place of the [`sync`] module; hence a test program beside `it`. Each test runs some thousand schedules, and fails if in
//! any of them an assertion does or all threads wait forever.

#![allow(dead_code, unreachable_pub, unused_imports, missing_docs)]

#[path = "../../src/builder.rs"]
mod builder;
#[path = "../../src/clock.rs"]
mod clock;
#[path = "../../src/drain.rs"]
mod drain;
#[path = "../../src/get.rs"]
mod get;
#[path = "../../src/item.rs"]
mod item;
#[path = "../../src/key.rs"]
mod key;
#[path = "../../src/limiters/mod.rs"]
mod limiters;
#[path = "../../src/metrics/mod.rs"]
mod metrics;
#[path = "../../src/options.rs"]
mod options;
#[path = "../../src/queue.rs"]
mod queue;
mod races;
#[path = "../../src/state/mod.rs"]
mod state;
#[path = "../../src/status.rs"]
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

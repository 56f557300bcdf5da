//! How requests are sent: limits, retries, time, warnings and defaults.
//!
//! [`ClientOptions`] puts all of it around a [`kube::Client`] and gives another [`kube::Client`] back, so everything that
//! takes one, [`kube::Api`] included, follows the same rules. Each rule is a tower layer of its own and can be used alone
//! over any service that can be cloned. From the caller to the wire:
//!
//! | layer | what it does |
//! |---|---|
//! | [`DefaultsLayer`] | user agent, field manager and field validation where the request names none |
//! | [`WarningLayer`] | hands the warnings of the final answer to a [`WarningHandler`] |
//! | [`TimeoutLayer`] | one time limit over all attempts and the whole body; never over watches |
//! | [`MetricsLayer`], [`AttemptMetricsLayer`] | tell a [`RequestMetrics`] of requests and of their attempts |
//! | [`RetryLayer`] | tries again when the server asks for it, or when a read met a broken connection |
//! | [`RateLimitLayer`] | a [`TokenBucket`] that every attempt has to pass |
//!
//! Requests can ask for other rules by [extensions](http::Extensions): [`RequestTimeout`], [`MaxRetries`],
//! [`RequestWarnings`].

mod defaults;
mod metrics;
mod options;
mod query;
mod rate_limit;
mod retry;
mod timeout;
mod token_bucket;
pub(crate) mod transient;
mod warning_header;
mod warnings;

pub use defaults::{DefaultsLayer, DefaultsService, user_agent};
pub use metrics::{
    AttemptMetricsLayer, AttemptMetricsService, ClientMetrics, MeasuredBody, MetricsLayer,
    MetricsService, RequestMetrics,
};
pub use options::{ClientOptions, ClientService};
pub use rate_limit::{RateLimitLayer, RateLimitService};
pub use retry::{MaxRetries, PreviousAttempt, RetryLayer, RetryService, StreamedAnswer};
pub use timeout::{RequestTimeout, TimedBody, TimedOut, TimeoutLayer, TimeoutService};
pub use token_bucket::{RateLimited, TokenBucket};
pub use warning_header::{Warning, parse_warnings};
pub use warnings::{
    LogWarnings, NoWarnings, OnceEach, RequestWarnings, WarningHandler, WarningLayer,
    WarningService,
};

/// Any error, as services have them.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a service answers with, later.
pub(crate) type Answering<T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send + 'static>>;

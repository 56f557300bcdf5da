//! The treatment of requests: rate limits, retries, timeouts, warnings and defaults.
//!
//! [`ClientOptions`](crate::ClientOptions) wraps a [`kube::Client`] in all of it and returns another [`kube::Client`],
//! so that it applies to everything that takes one, including [`kube::Api`]. Each part is a tower layer that can be
//! used alone over any service that can be cloned. From the caller to the wire:
//!
//! | layer | purpose |
//! |---|---|
//! | [`DefaultsLayer`] | user agent, field manager and field validation for requests without them |
//! | [`WarningLayer`] | passes the warnings of the final response to a [`WarningHandler`] |
//! | [`TimeoutLayer`] | one timeout for all attempts and the whole body, except for watches |
//! | [`MetricsLayer`], [`AttemptMetricsLayer`] | report requests and their attempts to a [`RequestMetrics`] |
//! | [`RetryLayer`] | retries when the server asks for it, or when a connection broke during a read |
//! | [`RateLimitLayer`] | a [`TokenBucket`] that every attempt has to pass |
//!
//! Single requests override the settings by [extensions](http::Extensions): [`RequestTimeout`], [`MaxRetries`],
//! [`RequestWarnings`].

mod defaults;
mod metrics;
pub(crate) mod options;
mod query;
mod rate_limit;
mod retry;
mod timeout;
mod token_bucket;
pub(crate) mod transient;
mod warning_header;
mod warnings;

use crate::error::BoxError;
pub use defaults::{DefaultsLayer, DefaultsService, user_agent};
pub use metrics::{
    AttemptMetricsLayer, AttemptMetricsService, ClientMetrics, MeasuredBody, MetricsLayer,
    MetricsService, RequestMetrics,
};
pub use options::ClientService;
pub use rate_limit::{RateLimitLayer, RateLimitService};
pub use retry::{MaxRetries, PreviousAttempt, RetryLayer, RetryService, StreamedResponse};
pub use timeout::{RequestTimeout, TimedBody, TimedOut, TimeoutLayer, TimeoutService};
pub use token_bucket::{RateLimited, TokenBucket};
pub use warning_header::{Warning, parse_warnings};
pub use warnings::{
    LogWarnings, NoWarnings, OnceEach, RequestWarnings, WarningHandler, WarningLayer,
    WarningService,
};

/// The future of a service.
pub(crate) type Answering<T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send + 'static>>;

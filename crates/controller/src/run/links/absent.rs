//! [`Links`] without the feature `otel`.

use http::HeaderValue;
use tracing::Span;

use crate::status::Pending;

/// No links.
#[derive(Clone, Default)]
pub(crate) struct Links(());

impl Links {
    /// Does nothing.
    pub(in crate::run) fn wrote(&self, _: u64) {}

    /// Does nothing.
    pub(in crate::run) fn link(&self, _: &Span, _: &Pending) {}

    /// Returns nothing.
    pub(in crate::run) fn traceparent() -> Option<HeaderValue> {
        None
    }
}

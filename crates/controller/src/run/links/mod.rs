//! [`Links`]: from the span of a run to the spans of the runs whose writes triggered it. Without the feature `otel`, spans are not
//! exported and there are none.

#[cfg(not(feature = "otel"))]
mod absent;
#[cfg(feature = "otel")]
mod exported;

#[cfg(not(feature = "otel"))]
pub(crate) use absent::Links;
#[cfg(feature = "otel")]
pub(crate) use exported::Links;

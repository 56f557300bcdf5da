//! Detection of transient connection failures.
//!
//! The whole chain of causes is searched. Where hyper has no type for a failure, its message decides, as in kube and in
//! Go.

use std::{error::Error as StdError, io};

/// Finds an error of a type in the chain of causes.
pub(crate) fn find<'a, E: StdError + 'static>(
    error: &'a (dyn StdError + 'static),
) -> Option<&'a E> {
    chain(error).find_map(|cause| cause.downcast_ref::<E>())
}

/// Reports whether the connection broke: reset, aborted, or closed during a request.
pub(crate) fn is_broken(error: &(dyn StdError + 'static)) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    has_kind(
        error,
        &[
            BrokenPipe,
            ConnectionAborted,
            ConnectionReset,
            UnexpectedEof,
        ],
    ) || chain(error).any(|cause| {
        let text = cause.to_string();
        text.contains("connection closed before message completed")
            || text.contains("connection reset by peer")
            || text.contains("unexpected EOF during chunk")
    })
}

/// Reports whether the connection was refused.
pub(crate) fn is_connection_refused(error: &(dyn StdError + 'static)) -> bool {
    has_kind(error, &[io::ErrorKind::ConnectionRefused])
}

/// Reports whether connecting timed out.
pub(crate) fn is_timeout(error: &(dyn StdError + 'static)) -> bool {
    has_kind(error, &[io::ErrorKind::TimedOut])
}

fn has_kind(error: &(dyn StdError + 'static), kinds: &[io::ErrorKind]) -> bool {
    chain(error).any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| kinds.contains(&error.kind()))
    })
}

/// Iterates over the error and its causes, at most sixteen in case they form a circle.
pub(crate) fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| inner(*error)).take(16)
}

/// Returns the cause. An `io::Error` hides the error that it wraps and shows only that error's cause.
fn inner<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(custom) => Some(custom),
        None => error.source(),
    }
}

//! Which failures of a connection pass by themselves.
//!
//! Errors are looked for in the whole chain of causes. Where hyper has no type for a failure that can be asked from here,
//! its words decide, as they do in kube and in Go.

use std::{error::Error as StdError, io};

/// Something in the chain of causes.
pub(crate) fn find<'a, E: StdError + 'static>(
    error: &'a (dyn StdError + 'static),
) -> Option<&'a E> {
    chain(error).find_map(|cause| cause.downcast_ref::<E>())
}

/// The connection broke off: reset, aborted, closed while a request was under way.
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

/// Nobody listens there.
pub(crate) fn is_connection_refused(error: &(dyn StdError + 'static)) -> bool {
    has_kind(error, &[io::ErrorKind::ConnectionRefused])
}

/// The connection took too long.
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

/// The error and its causes; no more than sixteen, should they go round in a circle.
pub(crate) fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| inner(*error)).take(16)
}

/// The cause. An `io::Error` hides the error it was made of and shows only that one's cause.
fn inner<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(custom) => Some(custom),
        None => error.source(),
    }
}

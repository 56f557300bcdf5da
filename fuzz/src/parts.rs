//! Splits inputs, and reads JSON from them.

use kubewright_schema::parse_json;
use serde_json::Value;

/// The line between two parts of an input.
const SEPARATOR: &[u8] = b"\n--\n";

/// Returns the parts of an input.
pub(crate) fn parts(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(data);
    std::iter::from_fn(move || {
        let now = rest.take()?;
        let at = now
            .windows(SEPARATOR.len())
            .position(|window| window == SEPARATOR);
        Some(match at {
            None => now,
            Some(at) => {
                rest = Some(&now[at + SEPARATOR.len()..]);
                &now[..at]
            }
        })
    })
}

/// Reads a JSON document as the server reads it.
pub(crate) fn json(data: &[u8]) -> Option<Value> {
    parse_json(data).ok()?.into_value().ok()
}

//! Positions in the source, which the generated code hands on so that errors of the server can name them.

use proc_macro2::Span;

/// Returns the position of a token, such as `src/api/crew/v1/captain.rs:31:14`. Outside of a compiler there is none.
pub(crate) fn of(span: Span) -> Option<String> {
    if !proc_macro::is_available() {
        return None;
    }
    let span = span.unwrap();
    Some(format!("{}:{}:{}", span.file(), span.line(), span.column()))
}

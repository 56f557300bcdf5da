//! Paths of fields in a schema: `.spec.color`, `.spec['a.b']`.

use std::fmt;

use super::model::{Additional, Structural};

/// A path that leads nowhere. `Display` is the message of the real server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPathError(String);

impl fmt::Display for FieldPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FieldPathError {}

/// The notation that a path may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathSyntax {
    /// Names behind dots: `.spec.color`.
    Dots,
    /// Names in brackets as well: `.spec['a.b']`.
    Brackets,
}

/// Follows a path through a schema. Returns the path as errors print it, and the schema at the path.
///
/// # Errors
///
/// Returns an error if the schema has no field at the path.
///
/// ```
/// use kubewright_schema::structural::{PathSyntax, Structural, find_field};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {
///     "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
/// }}))?;
/// assert_eq!(find_field(".spec.size", &schema, PathSyntax::Dots)?.0, "spec.size");
/// assert!(find_field(".spec.colour", &schema, PathSyntax::Dots).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find_field<'a>(
    path: &str,
    schema: &'a Structural,
    syntax: PathSyntax,
) -> Result<(String, &'a Structural), FieldPathError> {
    let fail = |text: &str| Err(FieldPathError(text.to_owned()));
    let mut found = String::new();
    let mut node = schema;
    let mut rest = path;
    while let Some(token) = next_token(&mut rest) {
        match token {
            "[" if syntax == PathSyntax::Dots => return fail("array notation is not allowed"),
            "[" => {
                let Some(quoted) = next_token(&mut rest) else {
                    return fail("unexpected end of JSON path");
                };
                let inner = quoted.strip_prefix('\'').and_then(|q| q.strip_suffix('\''));
                let Some(inner) = inner.filter(|_| quoted.len() >= 2) else {
                    return fail(&format!("expected single quoted string but got {quoted}"));
                };
                node = step(&mut found, node, &unescape(inner))?;
                match next_token(&mut rest) {
                    Some("]") => {}
                    Some(other) => return fail(&format!("expected ] but got {other}")),
                    None => return fail("unexpected end of JSON path"),
                }
            }
            "." => match next_token(&mut rest) {
                Some(name) => node = step(&mut found, node, name)?,
                None => return fail("unexpected end of JSON path"),
            },
            other => return fail(&format!("expected [ or . but got: {other}")),
        }
    }
    Ok((found, node))
}

fn step<'a>(
    found: &mut String,
    node: &'a Structural,
    name: &str,
) -> Result<&'a Structural, FieldPathError> {
    let nowhere = || FieldPathError("does not refer to a valid field".into());
    if !node.properties.is_empty() {
        if !found.is_empty() {
            found.push('.');
        }
        found.push_str(name);
        return node.property(name).ok_or_else(nowhere);
    }
    match &node.additional {
        Additional::Schema(schema) => {
            found.push_str(&format!("[{name}]"));
            Ok(schema)
        }
        _ => Err(nowhere()),
    }
}

/// A delimiter, a quoted string, or what stands between delimiters.
fn next_token<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = *rest;
    let first = text.chars().next()?;
    let length = match first {
        '.' | '[' | ']' => 1,
        '\'' => {
            let bytes = text.as_bytes();
            let end = (1..bytes.len()).find(|i| bytes[*i] == b'\'' && bytes[*i - 1] != b'\\');
            end.map_or(text.len(), |end| end + 1)
        }
        _ => text.find(['.', '[', ']']).unwrap_or(text.len()),
    };
    let (token, after) = text.split_at(length);
    *rest = after;
    Some(token)
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('a') => out.push('\u{7}'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('v') => out.push('\u{b}'),
                Some(other) => out.push(other),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

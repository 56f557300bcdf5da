//! The `fieldPath` of a rule: `.a.b['key with spaces']`.

use kubewright_machinery::field::Path;

use crate::schema::Schema;

/// Returns a field path as errors print it.
///
/// # Errors
///
/// Returns a message if the schema has no field at the path.
pub fn normalized_field_path(text: &str, schema: &Schema) -> Result<String, String> {
    let mut path = Path::root();
    let mut schema = schema;
    let mut tokens = Tokens { rest: text };
    while let Some(token) = tokens.next() {
        let name = match token {
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let inner = quoted
                    .strip_prefix('\'')
                    .and_then(|inner| inner.strip_suffix('\''))
                    .ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                let name = unquote(inner)?;
                (path, schema) = step(&path, schema, &name)?;
                let close = tokens.next().ok_or("unexpected end of JSON path")?;
                if close != "]" {
                    return Err(format!("expected ] but got {close}"));
                }
                continue;
            }
            "." => tokens.next().ok_or("unexpected end of JSON path")?,
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        (path, schema) = step(&path, schema, name)?;
    }
    Ok(path.as_str().to_owned())
}

fn step<'s>(path: &Path, schema: &'s Schema, name: &str) -> Result<(Path, &'s Schema), String> {
    let nowhere = || "does not refer to a valid field".to_owned();
    if !schema.properties.is_empty() {
        let property = schema.properties.get(name).ok_or_else(nowhere)?;
        return Ok((path.child(name), property));
    }
    let values = schema.additional_properties.as_deref();
    Ok((path.key(name), values.ok_or_else(nowhere)?))
}

struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    /// A delimiter, a quoted string, or the text between delimiters.
    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = self.rest.as_bytes();
        let end = if bytes.first() == Some(&b'\'') {
            let mut ends = (1..bytes.len())
                .filter(|at| bytes.get(*at) == Some(&b'\'') && bytes.get(at - 1) != Some(&b'\\'));
            ends.next().map(|at| at + 1)
        } else {
            let delimiter = |b: &u8| matches!(b, b'.' | b'[' | b']');
            bytes.iter().position(delimiter).map(|at| at.max(1))
        };
        let (token, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        Some(token)
    }
}

fn unquote(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            None => out.push('\\'),
            Some('a') => out.push('\x07'),
            Some('b') => out.push('\x08'),
            Some('f') => out.push('\x0c'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\x0b'),
            Some('\'') => out.push('\''),
            Some('\\') => out.push('\\'),
            Some(other) => {
                return Err(format!(
                    "invalid string literal: invalid escape char \\{other}"
                ));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_through_the_schema() {
        let schema = Schema::from_json(&json!({
            "type": "object",
            "properties": {
                "a": {"type": "object", "properties": {"b c": {"type": "string"}, "x": {"type": "string"}}},
                "m": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        }));
        for (path, normalized) in [
            (".a.x", Ok("a.x")),
            (".a['b c']", Ok("a.b c")),
            ("['a'].x", Ok("a.x")),
            (".m.key", Ok("m[key]")),
            (".m['it\\'s']", Ok("m[it's]")),
            (".nope", Err("does not refer to a valid field")),
            ("a.x", Err("expected [ or . but got: a")),
            (".a[0]", Err("expected single quoted string but got 0")),
            (".a.", Err("unexpected end of JSON path")),
            (".a['x'", Err("unexpected end of JSON path")),
            (".a.x.y", Err("does not refer to a valid field")),
        ] {
            let ours = normalized_field_path(path, &schema);
            let ours = ours.as_deref().map_err(String::as_str);
            assert_eq!(ours, normalized, "{path}");
        }
    }
}

//! Strings: searching, cutting, replacing, joining.

use crate::value::{EvalError, EvalResult, List, Str, Value};

use super::{Implementation, Registry, format, no_such_overload};

pub(super) fn declare(r: &mut Registry) {
    let overloads: [(&'static str, &'static str, &str, &str, Implementation); 20] = [
        (
            "contains",
            "contains_string",
            "string string",
            "bool",
            |a| test(a, |s, t| s.contains(t)),
        ),
        (
            "endsWith",
            "ends_with_string",
            "string string",
            "bool",
            |a| test(a, |s, t| s.ends_with(t)),
        ),
        (
            "startsWith",
            "starts_with_string",
            "string string",
            "bool",
            |a| test(a, |s, t| s.starts_with(t)),
        ),
        (
            "charAt",
            "string_char_at_int",
            "string int",
            "string",
            char_at,
        ),
        (
            "indexOf",
            "string_index_of_string",
            "string string",
            "int",
            index_of,
        ),
        (
            "indexOf",
            "string_index_of_string_int",
            "string string int",
            "int",
            index_of,
        ),
        (
            "lastIndexOf",
            "string_last_index_of_string",
            "string string",
            "int",
            last_index_of,
        ),
        (
            "lastIndexOf",
            "string_last_index_of_string_int",
            "string string int",
            "int",
            last_index_of,
        ),
        (
            "lowerAscii",
            "string_lower_ascii",
            "string",
            "string",
            |a| map(a, str::to_ascii_lowercase),
        ),
        (
            "replace",
            "string_replace_string_string",
            "string string string",
            "string",
            replace,
        ),
        (
            "replace",
            "string_replace_string_string_int",
            "string string string int",
            "string",
            replace,
        ),
        (
            "split",
            "string_split_string",
            "string string",
            "list(string)",
            split,
        ),
        (
            "split",
            "string_split_string_int",
            "string string int",
            "list(string)",
            split,
        ),
        (
            "substring",
            "string_substring_int",
            "string int",
            "string",
            substring,
        ),
        (
            "substring",
            "string_substring_int_int",
            "string int int",
            "string",
            substring,
        ),
        ("trim", "string_trim", "string", "string", |a| {
            map(a, |s| trim(s).to_owned())
        }),
        (
            "upperAscii",
            "string_upper_ascii",
            "string",
            "string",
            |a| map(a, str::to_ascii_uppercase),
        ),
        (
            "format",
            "string_format",
            "string list(dyn)",
            "string",
            format::format,
        ),
        ("join", "list_join", "list(string)", "string", join),
        (
            "join",
            "list_join_string",
            "list(string) string",
            "string",
            join,
        ),
    ];
    for (name, id, params, result, implementation) in overloads {
        r.member(name, id, params, result, implementation);
    }
    for name in ["contains", "endsWith", "startsWith"] {
        r.unguarded(name);
    }
    r.global(
        "strings.quote",
        "strings_quote",
        "string",
        "string",
        quote as Implementation,
    );
}

fn test<'a>(args: &[Value<'a>], test: fn(&str, &str) -> bool) -> EvalResult<'a> {
    match args {
        [Value::String(text), Value::String(other)] => Ok(Value::Bool(test(text, other))),
        _ => no_such_overload(),
    }
}

fn map<'a>(args: &[Value<'a>], map: fn(&str) -> String) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => Ok(Value::text(map(text))),
        _ => no_such_overload(),
    }
}

fn out_of_range<'a>(index: i64) -> EvalResult<'a> {
    Err(EvalError::new(format!("index out of range: {index}")))
}

fn char_at<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(text), Value::Int(index)] = args else {
        return no_such_overload();
    };
    let Ok(at) = usize::try_from(*index) else {
        return out_of_range(*index);
    };
    match text.chars().nth(at) {
        Some(c) => Ok(Value::text(c.to_string())),
        None if text.chars().count() == at => Ok(Value::text("")),
        None => out_of_range(*index),
    }
}

fn index_of<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, wanted, offset) = match args {
        [Value::String(text), Value::String(wanted)] => (text, wanted, 0),
        [
            Value::String(text),
            Value::String(wanted),
            Value::Int(offset),
        ] => (text, wanted, *offset),
        _ => return no_such_overload(),
    };
    if wanted.is_empty() {
        return Ok(Value::Int(offset));
    }
    let Ok(skip) = usize::try_from(offset) else {
        return out_of_range(offset);
    };
    let found = byte_offset(text, skip).and_then(|from| {
        let at = text[from..].find(&**wanted)?;
        Some(skip + text[from..from + at].chars().count())
    });
    Ok(Value::Int(found.map_or(-1, |at| at as i64)))
}

fn last_index_of<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, wanted, offset) = match args {
        [Value::String(text), Value::String(wanted)] => (text, wanted, None),
        [
            Value::String(text),
            Value::String(wanted),
            Value::Int(offset),
        ] => (text, wanted, Some(*offset)),
        _ => return no_such_overload(),
    };
    let length = text.chars().count();
    if wanted.is_empty() {
        return Ok(Value::Int(offset.unwrap_or(length as i64)));
    }
    let last = match offset {
        None => usize::MAX,
        Some(offset) => match usize::try_from(offset) {
            Err(_) => return out_of_range(offset),
            Ok(offset) if offset >= length => return Ok(Value::Int(-1)),
            Ok(offset) => offset,
        },
    };
    // The match may begin at `last` and end after it.
    let reach = last.saturating_add(wanted.chars().count());
    let end = byte_offset(text, reach).unwrap_or(text.len());
    let found = text[..end].rfind(&**wanted);
    Ok(Value::Int(
        found.map_or(-1, |at| text[..at].chars().count() as i64),
    ))
}

/// The byte where a character begins, the end included.
fn byte_offset(text: &str, index: usize) -> Option<usize> {
    let mut starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    starts.nth(index)
}

/// Returns the maximum number of parts; `None` for all.
fn limit(args: &[Value<'_>], at: usize) -> Result<Option<usize>, EvalError> {
    match args.get(at) {
        None => Ok(None),
        Some(Value::Int(n)) => Ok(usize::try_from(*n).ok()),
        Some(_) => Err(EvalError::NO_SUCH_OVERLOAD),
    }
}

fn replace<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [
        Value::String(text),
        Value::String(old),
        Value::String(new),
        ..,
    ] = args
    else {
        return no_such_overload();
    };
    let replaced = match limit(args, 3)? {
        None => text.replace(&**old, new),
        Some(count) => text.replacen(&**old, new, count),
    };
    Ok(Value::text(replaced))
}

fn split<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(text), Value::String(separator), ..] = args else {
        return no_such_overload();
    };
    let most = limit(args, 2)?.unwrap_or(usize::MAX);
    if most == 0 {
        return Ok(Value::List(List::new(Vec::new())));
    }
    if separator.is_empty() {
        // Into characters, the rest in one piece.
        let mut parts = Vec::new();
        let mut rest = &**text;
        while let Some(c) = rest.chars().next() {
            if parts.len() + 1 == most {
                parts.push(rest);
                break;
            }
            let (first, after) = rest.split_at(c.len_utf8());
            parts.push(first);
            rest = after;
        }
        return Ok(Value::strings(parts));
    }
    Ok(Value::strings(text.splitn(most, &**separator)))
}

fn substring<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let (text, start, end) = match args {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return no_such_overload(),
    };
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(EvalError::new(format!(
            "invalid substring range. start: {start}, end: {end}"
        )));
    }
    let at = |index: i64| {
        usize::try_from(index)
            .ok()
            .and_then(|i| byte_offset(text, i))
    };
    let Some(from) = at(start) else {
        return out_of_range(start);
    };
    let to = match end {
        None => text.len(),
        Some(end) => match at(end) {
            Some(to) => to,
            None => return out_of_range(end),
        },
    };
    Ok(Value::String(cut(text, from, to)))
}

/// A piece of a string; borrowed if that is.
fn cut<'a>(text: &Str<'a>, from: usize, to: usize) -> Str<'a> {
    match text {
        Str::Borrowed(text) => Str::Borrowed(text.get(from..to).unwrap_or("")),
        Str::Shared(text) => Str::of(text.get(from..to).unwrap_or("")),
    }
}

/// Takes off what Go calls white space.
fn trim(text: &str) -> &str {
    let space = |c: char| c.is_whitespace() && !matches!(c, '\x1c'..='\x1f');
    text.trim_matches(space)
}

fn join<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let (list, separator) = match args {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return no_such_overload(),
    };
    let mut out = String::new();
    for (at, item) in list.iter().enumerate() {
        if at > 0 {
            out.push_str(separator);
        }
        match item? {
            Value::String(text) => out.push_str(&text),
            other => {
                return Err(EvalError::new(format!("join: invalid input: {other}")));
            }
        }
    }
    Ok(Value::text(out))
}

fn quote<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(text)] = args else {
        return no_such_overload();
    };
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    Ok(Value::text(out))
}

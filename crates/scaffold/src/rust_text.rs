//! Finds positions in Rust source, to insert and remove lines without reformatting the rest.
//!
//! Comments, strings and characters are skipped, so that braces in them do not count.

/// Returns the source with a line added at the end of a function's body, or `None` if there is no such function.
pub(crate) fn append_to_fn(source: &str, name: &str, line: &str) -> Option<String> {
    let close = body_end(source, name)?;
    let start_of_line = source[..close].rfind('\n').map_or(0, |at| at + 1);
    let before_brace = &source[start_of_line..close];
    let mut out = String::with_capacity(source.len() + line.len() + 8);
    if before_brace.trim().is_empty() {
        out.push_str(&source[..start_of_line]);
        out.push_str(&format!("{before_brace}    {line}\n"));
        out.push_str(&source[start_of_line..]);
    } else {
        // The body is on one line.
        out.push_str(source[..close].trim_end());
        out.push_str(&format!("\n    {line}\n"));
        out.push_str(&source[close..]);
    }
    Some(out)
}

/// Returns the source with a module declared, next to other declarations or before the first item.
pub(crate) fn declare_module(source: &str, name: &str) -> String {
    let line = format!("pub mod {name};");
    if source.lines().any(|existing| existing.trim() == line) {
        return source.to_owned();
    }
    insert_among(source, &["pub mod ", "mod ", "pub(crate) mod "], &line)
}

/// Returns the source with a line inserted in alphabetical order among the lines with one of these prefixes, or after the inner
/// documentation if there are none.
pub(crate) fn insert_among(source: &str, begins: &[&str], line: &str) -> String {
    let is_one = |text: &str| {
        let text = text.trim_end();
        begins.iter().any(|begin| text.starts_with(begin)) && text.ends_with(';')
    };
    let is_head = |text: &str| text.starts_with("//!") || text.starts_with("#![");
    // rustfmt's order.
    let plain = |text: &str| text.trim_end().replace("r#", "");
    let wanted = plain(line);
    let mut in_head = true;
    let (mut at, mut after_head, mut last, mut greater) = (0, 0, None, None);
    for text in source.split_inclusive('\n') {
        if greater.is_none() && is_one(text) && plain(text) > wanted {
            greater = Some(at);
        }
        at += text.len();
        in_head &= is_head(text);
        if in_head {
            after_head = at;
        }
        if is_one(text) {
            last = Some(at);
        }
    }
    let place = greater.or(last).unwrap_or(after_head);
    let mut out = source[..place].to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    if last.is_none() && after_head > 0 {
        out.push('\n');
    }
    out.push_str(line);
    out.push('\n');
    out.push_str(&source[place..]);
    out
}

/// Returns the source with a line inserted before a line with this content, with its indentation, or `None` if there is none.
pub(crate) fn insert_before(source: &str, anchor: &str, line: &str) -> Option<String> {
    let mut out = String::with_capacity(source.len() + line.len() + 8);
    let mut found = false;
    for text in source.split_inclusive('\n') {
        if !found && text.trim() == anchor {
            let indent = &text[..text.len() - text.trim_start().len()];
            out.push_str(&format!("{indent}{line}\n"));
            found = true;
        }
        out.push_str(text);
    }
    found.then_some(out)
}

/// Returns the source without a line with this content, ignoring indentation, or `None` if there is none.
pub(crate) fn remove_line(source: &str, line: &str) -> Option<String> {
    let at = source
        .lines()
        .position(|existing| existing.trim() == line)?;
    let mut out: String = String::with_capacity(source.len());
    for (n, text) in source.split_inclusive('\n').enumerate() {
        if n != at {
            out.push_str(text);
        }
    }
    Some(out)
}

/// Returns the position of the closing brace of a function.
fn body_end(source: &str, name: &str) -> Option<usize> {
    let bytes = source.as_bytes();
    let mut at = 0;
    let mut found = false;
    let mut depth = 0_usize;
    while at < bytes.len() {
        if let Some(after) = skip(source, at) {
            at = after;
            continue;
        }
        let rest = &source[at..];
        if !found && rest.starts_with("fn ") && (at == 0 || !is_word(bytes[at - 1])) {
            let named = rest[3..].trim_start();
            found = named
                .strip_prefix(name)
                .is_some_and(|after| after.trim_start().starts_with(['(', '<']));
        } else if found && bytes[at] == b'{' {
            depth += 1;
        } else if found && bytes[at] == b'}' {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at);
            }
        }
        at += source[at..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

/// Returns the end of the comment, string or character that starts at this position.
fn skip(source: &str, at: usize) -> Option<usize> {
    let rest = &source[at..];
    let end =
        |found: Option<usize>, more: usize| Some(found.map_or(source.len(), |n| at + n + more));
    if rest.starts_with("//") {
        return end(rest.find('\n'), 0);
    }
    if rest.starts_with("/*") {
        return Some(at + block_comment(rest));
    }
    if let Some(raw) = rest.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') && (at == 0 || !is_word(source.as_bytes()[at - 1])) {
            let close = format!("\"{}", "#".repeat(hashes));
            let inside = &raw[hashes + 1..];
            return end(inside.find(&close), 1 + hashes + 1 + close.len());
        }
    }
    if let Some(inside) = rest.strip_prefix('"') {
        return end(close_of_string(inside), 2);
    }
    // A character such as `'x'` or `'\n'`, not a lifetime.
    if let Some(inside) = rest.strip_prefix('\'') {
        let mut letters = inside.chars();
        let first = letters.next()?;
        if first == '\\' {
            return end(inside.get(2..)?.find('\''), 4);
        }
        if letters.next() == Some('\'') {
            return Some(at + 2 + first.len_utf8());
        }
    }
    None
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn close_of_string(inside: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at),
            _ => {}
        }
    }
    None
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_to_the_end_of_the_body() {
        let source =
            "fn other() { }\n\npub fn register(op: &mut O) {\n    op.a();\n}\n\nfn last() {}\n";
        let edited = append_to_fn(source, "register", "op.b();").unwrap();
        assert_eq!(
            edited,
            source.replace("    op.a();\n", "    op.a();\n    op.b();\n")
        );
    }

    #[test]
    fn braces_in_strings_comments_and_characters_do_not_count() {
        let source = "// fn register() {\nfn register(op: &'a O) {\n    let s = \"}\\\"}\"; // }\n    /* } /* } */ } */ let c = '}'; let q = '\\'';\n    let r = r#\"}\"}\"#;\n}\n";
        let edited = append_to_fn(source, "register", "x();").unwrap();
        assert!(edited.ends_with("\"#;\n    x();\n}\n"), "{edited}");
    }

    #[test]
    fn a_body_on_one_line_is_opened() {
        assert_eq!(
            append_to_fn("fn register(o: O) {}\n", "register", "x();").unwrap(),
            "fn register(o: O) {\n    x();\n}\n"
        );
    }

    #[test]
    fn without_the_function_there_is_no_place() {
        assert_eq!(
            append_to_fn("fn registered() {}\n", "register", "x();"),
            None
        );
        assert_eq!(append_to_fn("fn register() {", "register", "x();"), None);
        assert_eq!(
            append_to_fn("\"fn register() {}\"", "register", "x();"),
            None
        );
        assert_eq!(append_to_fn("'", "register", "x();"), None);
    }

    #[test]
    fn modules_are_declared_after_the_last_one() {
        assert_eq!(
            declare_module("//! Doc.\n\npub mod a;\n\npub use a::A;\n", "b"),
            "//! Doc.\n\npub mod a;\npub mod b;\n\npub use a::A;\n"
        );
        assert_eq!(
            declare_module("//! Doc.\n", "b"),
            "//! Doc.\n\npub mod b;\n"
        );
        assert_eq!(
            declare_module("pub mod a;\npub mod r#type;\npub mod z;\n", "shelf"),
            "pub mod a;\npub mod shelf;\npub mod r#type;\npub mod z;\n"
        );
        assert_eq!(declare_module("", "b"), "pub mod b;\n");
        assert_eq!(declare_module("pub mod b;\n", "b"), "pub mod b;\n");
    }

    #[test]
    fn a_line_is_removed_whole() {
        assert_eq!(remove_line("a\n    b;\nc\n", "b;").unwrap(), "a\nc\n");
        assert_eq!(remove_line("a\n", "b;"), None);
    }
}

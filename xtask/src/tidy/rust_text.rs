//! Rust source without what is not code: comments, strings and characters blanked out, so that a word can be looked for
//! where it means something. A scanner of a few rules, not a parser.

/// The code of a file. Lines keep their numbers and their lengths in characters.
pub(super) fn code(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match not_code(&chars, at) {
            Some(end) => end.min(chars.len()),
            None => {
                out.push(chars[at]);
                at += 1;
                continue;
            }
        };
        out.extend(
            chars[at..end]
                .iter()
                .map(|c| if *c == '\n' { '\n' } else { ' ' }),
        );
        at = end;
    }
    out
}

/// The code up to the tests at the end of a file.
pub(super) fn without_tests(code: &str) -> &str {
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(test)]") {
        let start = from + found;
        let behind = start + "#[cfg(test)]".len();
        let item = code[behind..].trim_start();
        if item.starts_with("mod ") && item.lines().next().is_some_and(|l| l.ends_with('{')) {
            return &code[..start];
        }
        from = behind;
    }
    code
}

/// The lines, counted from one, where a word stands: not as a part of a longer name.
pub(super) fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let open_end = word.ends_with(part_of_name);
    let stands = |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            let longer = open_end && after.is_some_and(part_of_name);
            !(longer || before.is_some_and(part_of_name))
        })
    };
    let lines = code.lines().enumerate();
    lines
        .filter(|(_, line)| stands(line))
        .map(|(n, _)| n + 1)
        .collect()
}

/// The lines, counted from one, where `use std::{..}` brings in a module of that name.
pub(super) fn lines_with_grouped_std(code: &str, module: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    for (at, opening) in code.match_indices("std::{") {
        let inside = at + opening.len();
        let mut depth = 1;
        let mut start = inside;
        for (offset, c) in code[inside..].char_indices() {
            let here = inside + offset;
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if c == ',' && depth == 1 || depth == 0 {
                let item = code[start..here].trim();
                let name = item.split([':', ' ']).next().unwrap_or(item);
                if name == module {
                    let lead = code[start..here].len() - code[start..here].trim_start().len();
                    lines.push(code[..start + lead].matches('\n').count() + 1);
                }
                start = here + 1;
            }
            if depth == 0 {
                break;
            }
        }
    }
    lines
}

/// Where the comment, string or character that starts here ends.
fn not_code(chars: &[char], at: usize) -> Option<usize> {
    let next = chars.get(at + 1).copied();
    let in_name = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match chars[at] {
        '/' if next == Some('/') => Some(position(chars, at, |c| c == '\n')),
        '/' if next == Some('*') => Some(block_comment(chars, at)),
        '"' => Some(string(chars, at)),
        'r' if !in_name || chars[at - 1] == 'b' => raw_string(chars, at),
        '\'' => character(chars, at),
        _ => None,
    }
}

fn position(chars: &[char], from: usize, stop: impl Fn(char) -> bool) -> usize {
    chars[from..]
        .iter()
        .position(|c| stop(*c))
        .map_or(chars.len(), |n| from + n)
}

fn block_comment(chars: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn string(chars: &[char], start: usize) -> usize {
    let mut at = start + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

fn raw_string(chars: &[char], start: usize) -> Option<usize> {
    let quote = position(chars, start + 1, |c| c != '#');
    if chars.get(quote) != Some(&'"') {
        return None;
    }
    let hashes = quote - start - 1;
    let mut at = quote + 1;
    loop {
        at = position(chars, at.min(chars.len()), |c| c == '"') + 1;
        if at > chars.len() {
            return Some(chars.len());
        }
        let closing = chars[at..]
            .iter()
            .take(hashes)
            .filter(|c| **c == '#')
            .count();
        if closing == hashes {
            return Some(at + hashes);
        }
    }
}

/// A character, as opposed to a lifetime.
fn character(chars: &[char], start: usize) -> Option<usize> {
    match chars.get(start + 1)? {
        '\\' => Some(position(chars, start + 3, |c| c == '\'') + 1),
        _ => (chars.get(start + 2) == Some(&'\'')).then_some(start + 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank() {
        let table = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("x \" y", z)"#, r#"f(        , z)"#),
            ("r#\"x \" y\"# z", "           z"),
            ("br\"x\" z", "b     z"),
            ("'a' 'b: &'c", "    'b: &'c"),
            (r"'\'' '\u{1}' x", "             x"),
            ("var\"x\"", "var   "),
            ("\"open", "     "),
        ];
        for (text, expected) in table {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn a_word_is_not_a_part_of_a_name() {
        assert_eq!(
            lines_with("tokio\nmytokio\ntokios\nx::tokio::y", "tokio"),
            [1, 4]
        );
        assert_eq!(lines_with("eprintln!()\nprintln!()", "println!"), [2]);
        assert_eq!(
            lines_with("std::env::var\nstd::environment", "std::env"),
            [1]
        );
    }

    #[test]
    fn modules_in_a_group_are_found() {
        let code = "use std::{\n    fmt,\n    fs::{self, env},\n    io,\n};";
        assert_eq!(lines_with_grouped_std(code, "fs"), [3]);
        assert_eq!(lines_with_grouped_std(code, "io"), [4]);
        assert!(lines_with_grouped_std(code, "env").is_empty());
        assert!(lines_with_grouped_std("use std::{", "fs").is_empty());
    }

    #[test]
    fn tests_at_the_end_are_cut_off() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\n b"), "a\n");
        let kept = "a\n#[cfg(test)]\nmod tests;\nb";
        assert_eq!(without_tests(kept), kept);
    }
}

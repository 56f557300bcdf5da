//! Writes one string: its style, escapes and folds.

use super::{emit::Emitter, resolve};

/// The column after which text continues on the next line, at the next space.
const WIDTH: usize = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// The styles that would keep a text intact.
struct Allowed {
    plain: bool,
    single_quoted: bool,
    literal: bool,
}

/// Writes a string in the style that suits it. A simple key stays on one line.
pub(super) fn write(pen: &mut Emitter, text: &str, simple_key: bool) {
    match style(text, simple_key) {
        Style::Plain => {
            pen.indicator("", true, false, false);
            folded(pen, text, Style::Plain, !simple_key);
        }
        Style::SingleQuoted => {
            pen.indicator("'", true, false, false);
            folded(pen, text, Style::SingleQuoted, !simple_key);
            pen.indicator("'", false, false, false);
        }
        Style::DoubleQuoted => {
            pen.indicator("\"", true, false, false);
            escaped(pen, text, !simple_key);
            pen.indicator("\"", false, false, false);
        }
        Style::Literal => literal(pen, text),
    }
}

/// Reports whether a text takes more than one line.
pub(super) fn has_breaks(text: &str) -> bool {
    text.chars().any(is_break)
}

fn style(text: &str, simple_key: bool) -> Style {
    let allowed = allowed(text);
    if text.contains('\n') {
        if allowed.literal && !simple_key {
            Style::Literal
        } else {
            Style::DoubleQuoted
        }
    } else if resolve::is_not_a_string(text) {
        Style::DoubleQuoted
    } else if allowed.plain {
        Style::Plain
    } else if allowed.single_quoted {
        Style::SingleQuoted
    } else {
        Style::DoubleQuoted
    }
}

fn allowed(text: &str) -> Allowed {
    let mut special = false;
    let mut breaks = false;
    let mut break_space = false;
    let mut space_break = false;
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    // What stands before a character; nothing counts as a blank.
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let before_blank = chars.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
        indicators |= match (c, before) {
            (
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
                | '@' | '`',
                None,
            ) => true,
            ('?' | '-', None) | (':', _) => before_blank,
            ('#', Some(before)) => matches!(before, ' ' | '\t' | '\0') || is_break(before),
            _ => false,
        };
        special |= !is_printable(c);
        breaks |= is_break(c);
        break_space |= c == ' ' && before.is_some_and(is_break);
        space_break |= is_break(c) && before == Some(' ');
        before = Some(c);
    }
    let edge = |c: char| c == ' ' || is_break(c);
    let open_edge = text.starts_with(edge) || text.ends_with(edge);
    let unquotable = special || space_break;
    Allowed {
        plain: !(unquotable || break_space || breaks || open_edge || indicators),
        single_quoted: !(unquotable || break_space),
        literal: !unquotable && !text.is_empty() && !text.ends_with(' '),
    }
}

/// Writes plain or single-quoted text: a space after the width becomes a line break, unless it is next to another
/// space.
fn folded(pen: &mut Emitter, text: &str, style: Style, fold: bool) {
    let quoted = style == Style::SingleQuoted;
    let mut after_space = false;
    let mut after_break = false;
    let mut first = true;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == ' ' {
            let next = chars.peek().copied();
            let inside = !quoted || !first && next.is_some();
            if fold && !after_space && pen.column() > WIDTH && inside && next != Some(' ') {
                pen.start_line();
            } else {
                pen.put(c);
            }
            after_space = true;
        } else if is_break(c) {
            pen.put_break(c);
            after_break = true;
        } else {
            if after_break {
                pen.start_line();
            }
            if quoted && c == '\'' {
                pen.put('\'');
            }
            pen.put(c);
            pen.text_begun();
            after_space = false;
            after_break = false;
        }
        first = false;
    }
    pen.indicator("", false, false, false);
}

fn escaped(pen: &mut Emitter, text: &str, fold: bool) {
    // With a byte order mark in front, nothing is left as it is.
    let all = text.starts_with('\u{feff}');
    let mut after_space = false;
    let mut first = true;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
            escape(pen, c);
            after_space = false;
        } else if c == ' ' {
            let inside = !first && chars.peek().is_some();
            if fold && !after_space && pen.column() > WIDTH && inside {
                pen.start_line();
                if chars.peek() == Some(&' ') {
                    pen.put('\\');
                }
            } else {
                pen.put(c);
            }
            after_space = true;
        } else {
            pen.put(c);
            after_space = false;
        }
        first = false;
    }
}

fn escape(pen: &mut Emitter, c: char) {
    pen.put('\\');
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' | '\\' => c,
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let code = u32::from(c);
            let digits = match code {
                0..=0xff => format!("x{code:02X}"),
                0x100..=0xffff => format!("u{code:04X}"),
                _ => format!("U{code:08X}"),
            };
            digits.chars().for_each(|digit| pen.put(digit));
            return;
        }
    };
    pen.put(short);
}

fn literal(pen: &mut Emitter, text: &str) {
    pen.indicator("|", true, false, false);
    if text.starts_with(|c| c == ' ' || is_break(c)) {
        // The first line cannot tell the indent, so the header does.
        pen.indicator("2", false, false, false);
    }
    let mut backwards = text.chars().rev();
    let (last, last_but_one) = (backwards.next(), backwards.next());
    if !last.is_some_and(is_break) {
        pen.indicator("-", false, false, false);
    } else if last_but_one.is_none_or(is_break) {
        pen.indicator("+", false, false, false);
    }
    pen.end_header();
    let mut after_break = true;
    for c in text.chars() {
        if is_break(c) {
            pen.put_break(c);
            after_break = true;
        } else {
            if after_break {
                pen.start_line();
            }
            pen.put(c);
            pen.text_begun();
            after_break = false;
        }
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Reports whether a character may be unescaped. Those beyond the first plane may not.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && c != '\u{feff}'
}

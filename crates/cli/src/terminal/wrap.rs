//! Breaks long lines at the width of the terminal, so that no part of a message is lost.

/// The end of a style.
const RESET: &str = "\x1b[0m";

/// The mark of a line that was cut.
const CUT: &str = "…";

/// Breaks a line into rows of at most `width` columns, at spaces where possible. Rows after the first are indented. If
/// there are more than `most` rows, the last one ends with an ellipsis.
///
/// Styles (`\x1b[..m`) take no space, and continue in the next row.
pub(crate) fn wrap(line: &str, width: usize, indent: usize, most: usize) -> Vec<String> {
    let width = width.max(10);
    let indent = indent.min(width / 4);
    let mut rows = Vec::new();
    let mut row = Row::default();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            let mut style = String::from(c);
            for c in chars.by_ref() {
                style.push(c);
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
            row.style(style);
            continue;
        }
        if row.columns == width {
            if c == ' ' {
                row.space = Some((row.text.len(), row.columns, row.style.clone()));
            }
            let next = row.break_off(indent);
            rows.push(std::mem::replace(&mut row, next).text);
            if rows.len() == most {
                break;
            }
        }
        // Spaces at a break are not shown.
        if c == ' ' && row.columns == row.indent && !rows.is_empty() {
            continue;
        }
        row.push(if c.is_control() { ' ' } else { c });
    }
    if rows.len() < most {
        rows.push(row.text);
    } else if let Some(last) = rows.last_mut() {
        shorten(last, width);
    }
    rows
}

/// Makes room for the mark at the end of a row, and adds it.
fn shorten(row: &mut String, width: usize) {
    let styled = row.ends_with(RESET);
    let mut plain = row.trim_end_matches(RESET).trim_end().to_owned();
    if columns(&plain) >= width {
        plain.pop();
    }
    plain.push_str(CUT);
    if styled {
        plain.push_str(RESET);
    }
    *row = plain;
}

/// Returns the number of columns that a line takes.
pub(crate) fn columns(line: &str) -> usize {
    let mut count = 0;
    let mut in_style = false;
    for c in line.chars() {
        match (in_style, c) {
            (true, c) => in_style = !c.is_ascii_alphabetic(),
            (false, '\x1b') => in_style = true,
            (false, _) => count += 1,
        }
    }
    count
}

/// A row that is being filled.
#[derive(Default)]
struct Row {
    text: String,
    columns: usize,
    indent: usize,
    /// The style at the end of the row.
    style: String,
    /// The last space: its position in the text, its column, and the style there.
    space: Option<(usize, usize, String)>,
}

impl Row {
    fn style(&mut self, style: String) {
        self.text.push_str(&style);
        self.style = match style == RESET {
            true => String::new(),
            false => style,
        };
    }

    fn push(&mut self, c: char) {
        if c == ' ' && self.columns > self.indent {
            self.space = Some((self.text.len(), self.columns, self.style.clone()));
        }
        self.text.push(c);
        self.columns += 1;
    }

    /// Ends the row, at its last space if that is not far away, and returns the next one.
    fn break_off(&mut self, indent: usize) -> Row {
        let near =
            |column: usize| self.columns - column <= self.columns.saturating_sub(self.indent) / 2;
        let space = self.space.take().filter(|(_, column, _)| near(*column));
        let (rest, rest_columns, style) = match space {
            Some((at, column, style)) => {
                let rest = self.text.split_off(at);
                let rest = rest.strip_prefix(' ').unwrap_or(&rest).to_owned();
                (rest, (self.columns - column).saturating_sub(1), style)
            }
            None => (String::new(), 0, self.style.clone()),
        };
        if !style.is_empty() {
            self.text.push_str(RESET);
        }
        Row {
            text: format!("{}{style}{rest}", " ".repeat(indent)),
            columns: indent + rest_columns,
            indent,
            style: self.style.clone(),
            space: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_broken_at_spaces_and_indented() {
        assert_eq!(
            wrap("one two three four five", 12, 2, 9),
            ["one two", "  three four", "  five"]
        );
        assert_eq!(wrap("short", 12, 2, 9), ["short"]);
        assert_eq!(wrap("", 12, 2, 9), [""]);
    }

    #[test]
    fn a_word_that_is_too_long_is_broken_anywhere() {
        assert_eq!(
            wrap("abcdefghijklmnopqrstuvwxyz", 10, 0, 9),
            ["abcdefghij", "klmnopqrst", "uvwxyz"]
        );
    }

    #[test]
    fn styles_take_no_space_and_continue_in_the_next_row() {
        let line = "\x1b[31mone two three\x1b[0m end";
        let rows = wrap(line, 10, 0, 9);
        assert_eq!(rows, ["\x1b[31mone two\x1b[0m", "\x1b[31mthree\x1b[0m end"]);
        assert_eq!(columns(line), 17);
    }

    #[test]
    fn text_that_does_not_fit_is_marked() {
        let rows = wrap("one two three four five six seven", 10, 0, 2);
        assert_eq!(rows, ["one two", "three fou…"]);
        let rows = wrap("abcdefghijklmnopqrstuvwxyz", 10, 0, 1);
        assert_eq!(rows, ["abcdefghi…"]);
    }

    #[test]
    fn nothing_that_moves_the_cursor_gets_through() {
        assert_eq!(wrap("a\tb\rc\u{7}d", 20, 0, 9), ["a b c d"]);
    }
}

//! `awk`: programs of one action that prints fields, such as `/web/ {print $1, $NF}`.

use regex::Regex;

use super::Call;

/// A program.
#[derive(Debug)]
struct Program {
    /// Only lines that it matches are printed.
    pattern: Option<Pattern>,
    /// Parts that are separated by commas, each of which is a concatenation. Without any, the line is printed.
    printed: Vec<Vec<Item>>,
}

#[derive(Debug)]
enum Pattern {
    Matches(Regex),
    Line(usize),
}

/// A value that is printed.
#[derive(Debug, PartialEq, Eq)]
enum Item {
    Field(usize),
    LastField,
    FieldCount,
    LineNumber,
    Text(String),
}

impl Call<'_> {
    pub(super) async fn awk(&mut self) -> i32 {
        let (options, words) = self.options("Fv");
        let Some((text, files)) = words.split_first() else {
            return self.fail(1, "no program").await;
        };
        let Some(program) = Program::parse(text) else {
            let text = format!("programs like '{text}' do not run in simulated containers");
            return self.fail(2, &text).await;
        };
        let separator = options.iter().find(|(letter, _)| *letter == 'F');
        let separator = separator.map(|(_, value)| value.replace("\\t", "\t"));
        let (inputs, mut code) = self.inputs(files).await;
        let mut number = 0;
        for (_, bytes) in &inputs {
            for line in String::from_utf8_lossy(bytes).lines() {
                number += 1;
                if let Some(printed) = program.run(line, number, separator.as_deref()) {
                    code = self.print(printed + "\n").await.max(code);
                }
            }
        }
        code
    }
}

impl Program {
    fn parse(text: &str) -> Option<Self> {
        let (pattern, action) = match text.split_once('{') {
            Some((pattern, action)) => (pattern.trim(), action.trim().strip_suffix('}')?),
            None => (text.trim(), "print"),
        };
        let pattern = match pattern {
            "" => None,
            pattern => Some(match pattern.strip_prefix("NR==") {
                Some(line) => Pattern::Line(line.parse().ok()?),
                None => {
                    let expression = pattern.strip_prefix('/')?.strip_suffix('/')?;
                    Pattern::Matches(Regex::new(expression).ok()?)
                }
            }),
        };
        let action = action.trim().trim_end_matches(';');
        let items = action.strip_prefix("print")?.trim();
        let printed = match items {
            "" => Vec::new(),
            items => parse_items(items)?,
        };
        Some(Self { pattern, printed })
    }

    /// Returns what is printed of a line.
    fn run(&self, line: &str, number: usize, separator: Option<&str>) -> Option<String> {
        let is_wanted = match &self.pattern {
            None => true,
            Some(Pattern::Matches(expression)) => expression.is_match(line),
            Some(Pattern::Line(wanted)) => *wanted == number,
        };
        if !is_wanted {
            return None;
        }
        let fields: Vec<&str> = match separator {
            None | Some(" ") => line.split_whitespace().collect(),
            Some(separator) => line.split(separator).collect(),
        };
        let field = |at: usize| fields.get(at).copied().unwrap_or_default().to_owned();
        let value = |item: &Item| match item {
            Item::Field(0) => line.to_owned(),
            Item::Field(at) => field(at - 1),
            Item::LastField => field(fields.len().saturating_sub(1)),
            Item::FieldCount => fields.len().to_string(),
            Item::LineNumber => number.to_string(),
            Item::Text(text) => text.clone(),
        };
        if self.printed.is_empty() {
            return Some(line.to_owned());
        }
        let parts = self.printed.iter();
        let parts: Vec<String> = parts.map(|part| part.iter().map(value).collect()).collect();
        Some(parts.join(" "))
    }
}

/// Parses `$1, "text" $NF`.
fn parse_items(text: &str) -> Option<Vec<Vec<Item>>> {
    let mut parts = vec![Vec::new()];
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(',') {
            parts.push(Vec::new());
            rest = after.trim_start();
            continue;
        }
        let (item, after) = if let Some(after) = rest.strip_prefix('"') {
            let (text, after) = after.split_once('"')?;
            (Item::Text(text.replace("\\t", "\t")), after)
        } else if let Some(after) = rest.strip_prefix("$NF") {
            (Item::LastField, after)
        } else if let Some(after) = rest.strip_prefix('$') {
            let end = after.find(|c: char| !c.is_ascii_digit());
            let (number, after) = after.split_at(end.unwrap_or(after.len()));
            (Item::Field(number.parse().ok()?), after)
        } else if let Some(after) = rest.strip_prefix("NF") {
            (Item::FieldCount, after)
        } else {
            (Item::LineNumber, rest.strip_prefix("NR")?)
        };
        parts.last_mut()?.push(item);
        rest = after.trim_start();
    }
    parts.iter().all(|part| !part.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn awk_prints_fields_of_lines() {
        for (program, separator, expected) in [
            ("{print $1}", None, Some("a")),
            ("{ print $2, $NF; }", None, Some("b c")),
            ("{print NR \":\" NF}", None, Some("7:3")),
            ("/b/", None, Some("a b c")),
            ("/x/ {print}", None, None),
            ("NR==7 {print $1}", Some("b"), Some("a ")),
            ("{print $9}", None, Some("")),
        ] {
            let printed = Program::parse(program).unwrap().run("a b c", 7, separator);
            assert_eq!(printed.as_deref(), expected, "{program}");
        }
        for program in [
            "{x = 1}",
            "BEGIN {print 1}",
            "{print length}",
            "{print $1,}",
        ] {
            assert!(Program::parse(program).is_none(), "{program}");
        }
    }
}

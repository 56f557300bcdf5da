//! The output of `kubectl explain`, as text and as JSON.

use serde_json::{Value, json};

use super::{Named, schema::Schema};

/// The line width.
const WIDTH: usize = 80;

/// The maximum number of enum values on one line.
const VALUES: usize = 4;

/// Formats the text.
pub(super) fn page(
    kind: &Named,
    fields: &[String],
    schema: &Schema<'_>,
    recursive: bool,
) -> String {
    let mut page = String::new();
    if !kind.group.is_empty() {
        page += &format!("GROUP:      {}\n", kind.group);
    }
    page += &format!(
        "KIND:       {}\nVERSION:    {}\n\n",
        kind.kind, kind.version
    );
    if let Some(last) = fields.last() {
        page += &format!("FIELD: {last} <{}>\n", schema.type_words());
        if let Some(values) = schema.enumerated() {
            page += "ENUM:";
            for value in values {
                page += &format!("\n    {value}");
            }
        }
        page += "\n\n";
    }
    let description = match schema.description() {
        none if none.is_empty() => "<empty>".to_owned(),
        text => text,
    };
    page += &format!(
        "DESCRIPTION:\n{}\n",
        indented(&wrapped(&description, WIDTH - 4), 4)
    );
    let mut list = String::new();
    schema.each_field(recursive, &mut |level, name, field, required| {
        list += &detail(level, name, field, required, recursive);
    });
    if !list.is_empty() {
        page += &format!("FIELDS:\n{list}");
    }
    page + "\n"
}

fn detail(level: usize, name: &str, field: Schema<'_>, required: bool, short: bool) -> String {
    let indent = level * 2;
    let pad = " ".repeat(indent);
    let required = if required { " -required-" } else { "" };
    let mut text = format!("{pad}{name}\t<{}>{required}", field.type_words());
    if let Some(values) = field.enumerated() {
        let more = if values.len() > VALUES { ", ...." } else { "" };
        let shown = values[..values.len().min(VALUES)].join(", ");
        text += &format!("\n{pad}enum: {shown}{more}");
    }
    text.push('\n');
    if !short {
        let words = field.text("description").unwrap_or("<no description>");
        let width = (WIDTH - 2).saturating_sub(indent);
        text += &format!("{}\n\n", indented(&wrapped(words, width), indent + 2));
    }
    text
}

/// Formats the JSON.
pub(super) fn value(kind: &Named, fields: &[String], schema: &Schema<'_>) -> Value {
    let mut list = Vec::new();
    schema.each_field(false, &mut |_, name, field, required| {
        list.push(json!({
            "name": name,
            "type": field.type_words(),
            "required": required,
            "description": field.text("description"),
            "enum": field.enumerated(),
        }));
    });
    json!({
        "group": kind.group,
        "version": kind.version,
        "kind": kind.kind,
        "field": fields.join("."),
        "type": schema.type_words(),
        "description": schema.description().trim_end(),
        "enum": schema.enumerated(),
        "fields": list,
    })
}

fn indented(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    format!("{pad}{}", text.replace('\n', &format!("\n{pad}")))
}

/// Wraps text at spaces. A word longer than a line gets its own line; spaces at breaks are dropped.
fn wrapped(text: &str, width: usize) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| wrapped_line(line, width))
        .collect();
    lines.join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    let mut out = String::new();
    // The length of the last line, and the spaces before the next word.
    let (mut length, mut spaces) = (0, String::new());
    for piece in line.split_inclusive(' ') {
        let word = piece.trim_end_matches(' ');
        let long = word.chars().count();
        if !word.is_empty() {
            if length + spaces.len() + long > width && length + spaces.len() > 1 {
                out.push('\n');
                length = 0;
                spaces.clear();
            }
            out += &spaces;
            out += word;
            length += spaces.len() + long;
            spaces.clear();
        }
        spaces += &piece[word.len()..];
    }
    if length + spaces.len() <= width {
        out += &spaces;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_long_words_stay_whole() {
        assert_eq!(wrapped("aa bb cc", 5), "aa bb\ncc");
        assert_eq!(wrapped("aa bbbbbbbb cc", 5), "aa\nbbbbbbbb\ncc");
        assert_eq!(wrapped("a\n\n b", 5), "a\n\n b");
    }
}

//! Comma-separated values as Go's `encoding/csv` reads them with its defaults.
//!
//! Fields may be quoted; a quoted field may hold commas, line breaks and doubled quotes. Empty lines are skipped. There
//! are no comments, and whitespace around fields is significant.

use thiserror::Error;

/// An error in the text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CsvError {
    /// A quote inside a field that does not start with one.
    #[error("line {0}: bare \" in a field that is not quoted")]
    BareQuote(usize),
    /// Text after a closing quote, or no closing quote.
    #[error("line {0}: extraneous or missing \" in a quoted field")]
    Quote(usize),
}

/// Returns the records, each with the number of its first line.
pub(super) fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, CsvError> {
    let text = text.replace("\r\n", "\n");
    let mut records = Vec::new();
    let mut rest = text.as_str();
    let mut line = 1;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('\n') {
            rest = after;
            line += 1;
            continue;
        }
        let begin = line;
        let mut fields = Vec::new();
        loop {
            let (field, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted_field(quoted, &mut line)?,
                None => plain_field(rest, line)?,
            };
            fields.push(field);
            match after.strip_prefix(',') {
                Some(after) => rest = after,
                None => {
                    rest = after.strip_prefix('\n').unwrap_or(after);
                    line += 1;
                    break;
                }
            }
        }
        records.push((begin, fields));
    }
    Ok(records)
}

/// Reads an unquoted field, and what follows it: a comma, a line end or nothing.
fn plain_field(text: &str, line: usize) -> Result<(String, &str), CsvError> {
    let end = text.find([',', '\n']).unwrap_or(text.len());
    let (field, after) = text.split_at(end);
    if field.contains('"') {
        return Err(CsvError::BareQuote(line));
    }
    Ok((field.to_owned(), after))
}

/// Reads a field whose opening quote has been consumed.
fn quoted_field<'a>(text: &'a str, line: &mut usize) -> Result<(String, &'a str), CsvError> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let Some((part, after)) = rest.split_once('"') else {
            return Err(CsvError::Quote(*line));
        };
        *line += part.matches('\n').count();
        field.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                field.push('"');
                rest = after;
            }
            None if after.is_empty() || after.starts_with([',', '\n']) => {
                return Ok((field, after));
            }
            None => return Err(CsvError::Quote(*line)),
        }
    }
}

//! The messages of the Go library for text that is not YAML.

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use serde_saphyr::granit_parser::{ErrorKind, ScanError};

use super::YamlError;

/// The bytes as text, if YAML allows all of its characters.
pub(super) fn check_text(bytes: &[u8]) -> Result<&str, YamlError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        YamlError::new(match error.error_len() {
            None => "yaml: incomplete UTF-8 octet sequence",
            Some(1) => "yaml: invalid leading UTF-8 octet",
            Some(_) => "yaml: invalid trailing UTF-8 octet",
        })
    })?;
    let allowed = |c: char| {
        matches!(c,
            '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
    };
    if !text.chars().all(allowed) {
        return Err(YamlError::new("yaml: control characters are not allowed"));
    }
    // A tab before the first token would be indentation, which YAML does not allow.
    if text.trim_start_matches([' ', '\n', '\r']).starts_with('\t') {
        return Err(YamlError::new(
            "yaml: found character that cannot start any token",
        ));
    }
    Ok(text)
}

/// Returns the error of a document that nests too deep.
pub(super) fn too_deep() -> YamlError {
    YamlError::new(format!("yaml: exceeded max depth of {}", DOCUMENT_DEPTH))
}

/// Rejects the escapes of surrogates, which JSON has and YAML does not. Checked
/// where JSON is sent as YAML.
pub(super) fn check_escapes(text: &str) -> Result<(), YamlError> {
    if !text.trim_start().starts_with('{') || !text.contains("\\u") {
        return Ok(());
    }
    let bytes = text.as_bytes();
    let (mut at, mut line, mut quoted) = (0, 0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' => line += 1,
            b'"' => quoted = !quoted,
            b'\\' if quoted => {
                let surrogate = matches!(
                    bytes.get(at + 1..at + 4),
                    Some([b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F'])
                );
                if surrogate {
                    let message = "found invalid Unicode character escape code";
                    return Err(scanner_error(line, message));
                }
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The message for a text that could not be taken apart. Scanners count lines from one and never name the first;
/// parsers count from zero.
pub(super) fn scan(error: &ScanError, text: &str) -> YamlError {
    let mark = error.marker();
    let line = mark.line().saturating_sub(1);
    let (scanner, message): (bool, &str) = match error.kind() {
        ErrorKind::RecursionLimitExceeded => return too_deep(),
        ErrorKind::UnknownAnchor => {
            let name: String = text
                .chars()
                .skip(mark.index())
                .skip_while(|c| *c == '*')
                .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
                .collect();
            return YamlError::new(format!("yaml: unknown anchor '{name}' referenced"));
        }
        ErrorKind::MappingValueNotAllowed => {
            (true, "mapping values are not allowed in this context")
        }
        ErrorKind::MappingKeyNotAllowed => (true, "mapping keys are not allowed in this context"),
        ErrorKind::BlockSequenceEntryNotAllowed => (
            true,
            "block sequence entries are not allowed in this context",
        ),
        // Noticed on the line after the key.
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            return scanner_error(line + 1, "could not find expected ':'");
        }
        ErrorKind::UnexpectedCharacter { .. }
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::CommentInterceptedScalar => {
            (true, "found character that cannot start any token")
        }
        ErrorKind::UnclosedQuotedScalar => (true, "found unexpected end of stream"),
        ErrorKind::DocumentIndicatorInQuotedScalar => (true, "found unexpected document indicator"),
        ErrorKind::UnknownQuotedScalarEscape => (true, "found unknown escape character"),
        ErrorKind::InvalidQuotedScalarHexEscape => {
            (true, "did not find expected hexdecimal number")
        }
        ErrorKind::UnclosedFlowCollection { open: '[' }
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::ExpectedFlowSequenceSeparator => {
            return parser(
                end_line(error, text),
                unclosed(error, text, "did not find expected ',' or ']'"),
            );
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::ExpectedFlowMappingSeparator => {
            return parser(
                end_line(error, text),
                unclosed(error, text, "did not find expected ',' or '}'"),
            );
        }
        ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate
        | ErrorKind::InvalidLowSurrogate
        | ErrorKind::InvalidLowSurrogateHexEscape
        | ErrorKind::InvalidUnicodeEscape => (true, "found invalid Unicode character escape code"),
        ErrorKind::UnsupportedYamlMajorVersion => (false, "found incompatible YAML document"),
        ErrorKind::InvalidColonPlacement => (false, "did not find expected ',' or ']'"),
        ErrorKind::MisplacedFlowCollectionEnd => (false, "did not find expected node content"),
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => (false, "did not find expected key"),
        ErrorKind::ExpectedBlockSequenceEntry => (false, "did not find expected '-' indicator"),
        ErrorKind::ExpectedNodeContent => (false, "did not find expected node content"),
        ErrorKind::ExpectedDocumentStart => (false, "did not find expected <document start>"),
        other => {
            let shown = other.to_string();
            let message = shown
                .split_once(", ")
                .filter(|(context, _)| context.starts_with("while "))
                .map_or(shown.as_str(), |(_, message)| message);
            return scanner_error(line, message);
        }
    };
    if scanner {
        scanner_error(line, message)
    } else {
        parser(line, message)
    }
}

fn scanner_error(line: usize, message: &str) -> YamlError {
    YamlError::new(match line {
        0 => format!("yaml: {message}"),
        line => format!("yaml: line {}: {message}", line + 1),
    })
}

fn parser(line: usize, message: &str) -> YamlError {
    YamlError::new(match line {
        0 => format!("yaml: {message}"),
        line => format!("yaml: line {line}: {message}"),
    })
}

/// Returns the missing token of an open collection: its end, or an item after a bracket or comma.
fn unclosed<'a>(error: &ScanError, text: &str, separator: &'a str) -> &'a str {
    let cut_off = !matches!(
        error.kind(),
        ErrorKind::ExpectedFlowSequenceSeparator | ErrorKind::ExpectedFlowMappingSeparator
    );
    match cut_off && text.trim_end().ends_with(['[', '{', ',']) {
        true => "did not find expected node content",
        false => separator,
    }
}

/// Returns the line of an open bracket: the Go library points at the end of the text, which is the line after the last.
fn end_line(error: &ScanError, text: &str) -> usize {
    match error.kind() {
        ErrorKind::ExpectedFlowSequenceSeparator | ErrorKind::ExpectedFlowMappingSeparator => {
            error.marker().line().saturating_sub(1)
        }
        _ => text.lines().count(),
    }
}

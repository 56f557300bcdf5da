//! JSON as kube-apiserver writes documents: on one line, with `<`, `>` and `&` escaped.
//!
//! So equal documents have equal bytes and equal hashes.

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;

/// Writes a document. Only the writer can fail.
pub(super) fn write(document: &impl Serialize, out: &mut dyn io::Write) {
    let mut serializer = serde_json::Serializer::with_formatter(out, Escaping);
    if let Err(error) = document.serialize(&mut serializer) {
        tracing::error!(%error, "a document could not be written");
    }
}

/// Returns the bytes of a document.
pub(super) fn encode(document: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::new();
    write(document, &mut out);
    out
}

struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&']) {
            let (plain, tail) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let escape: &[u8] = match tail.as_bytes().first() {
                Some(b'<') => b"\\u003c",
                Some(b'>') => b"\\u003e",
                _ => b"\\u0026",
            };
            writer.write_all(escape)?;
            rest = tail.get(1..).unwrap_or_default();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angle_brackets_and_ampersands_are_escaped() {
        assert_eq!(
            encode(&serde_json::json!({"a": "<b> & \"c\"\n"})),
            br#"{"a":"\u003cb\u003e \u0026 \"c\"\n"}"#
        );
    }
}

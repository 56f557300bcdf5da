//! Packs the descriptions of types and fields: one text, compressed.
//!
//! They are prose for people, not facts, so they are kept out of the tables: a file of their own, read only when a
//! schema is published.

use std::io::Write;

use anyhow::{Result, ensure};
use flate2::{Compression, write::GzEncoder};

use super::facts::Facts;

/// Ends a part of a record.
const UNIT: char = '\u{1f}';
/// Ends a record: type, field (empty for the type itself), text.
const RECORD: char = '\u{1e}';

/// `descriptions.gz`
pub(crate) fn pack(facts: &Facts) -> Result<Vec<u8>> {
    let mut text = String::new();
    for (ty, fields) in &facts.descriptions {
        for (field, description) in fields {
            ensure!(
                !description.contains([UNIT, RECORD]),
                "a separator in {ty} {field}"
            );
            text.extend([ty.as_str(), "\u{1f}", field, "\u{1f}", description]);
            text.push(RECORD);
        }
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes())?;
    Ok(packed.finish()?)
}

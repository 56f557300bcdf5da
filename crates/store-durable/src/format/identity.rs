//! The file `STORE`: three lines of text that identify the directory.

use std::fmt::Write;

use super::FORMAT;

/// The name of the file.
pub(crate) const STORE: &str = "STORE";

/// The size limit of the file.
pub(crate) const MAX_BYTES: u64 = 4096;

/// The contents of `STORE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The format of the program that wrote it.
    pub(crate) format: u32,
    /// The id of the store, which every file repeats.
    pub(crate) id: [u8; 16],
    /// The oldest format whose programs can read the store.
    pub(crate) min_reader: u32,
}

impl Identity {
    pub(crate) fn new(id: [u8; 16]) -> Self {
        Self {
            format: FORMAT,
            id,
            min_reader: FORMAT,
        }
    }

    pub(crate) fn encode(&self) -> String {
        let (format, id, min_reader) = (self.format, hex(&self.id), self.min_reader);
        format!("format={format}\nstore-id={id}\nmin-reader={min_reader}\n")
    }

    /// Parses the text. Lines that later formats add are ignored.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once('='));
            lines.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        Some(Self {
            format: value("format")?.parse().ok()?,
            id: unhex(value("store-id")?)?,
            min_reader: value("min-reader")?.parse().ok()?,
        })
    }
}

/// Returns an id as text.
pub(crate) fn hex(id: &[u8; 16]) -> String {
    let mut text = String::with_capacity(32);
    for byte in id {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    let mut id = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in id.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_round_trip() {
        let identity = Identity::new([0xa5; 16]);
        assert_eq!(Identity::parse(&identity.encode()), Some(identity));
        let later = format!("{}colour=blue\n", identity.encode());
        assert_eq!(Identity::parse(&later), Some(identity));
    }

    #[test]
    fn other_texts_are_rejected() {
        let text = Identity::new([1; 16]).encode();
        for end in 0..text.len() - 1 {
            assert_eq!(Identity::parse(&text[..end]), None, "cut at {end}");
        }
        assert_eq!(Identity::parse(&text.replace("0", "\u{e9}")), None);
    }
}

//! [`AuditId`]: the audit id of a request, in little memory.

use std::fmt;

/// The positions of the dashes of a UUID.
const DASHES: [usize; 4] = [8, 13, 18, 23];

/// The positions of the first digits of its bytes.
const PAIRS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// A byte that is no lower-case hexadecimal digit.
const NO_DIGIT: u8 = 16;

/// The values of digits. A table, since every write has an id.
const DIGITS: [u8; 256] = {
    let (mut digits, mut value) = ([NO_DIGIT; 256], 0);
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

/// The audit id of a request: a UUID, or the text that a client has chosen.
///
/// ```
/// use kubewright_ledger::AuditId;
///
/// let id = AuditId::from("0d1c9d0e-6a0b-4a0e-a4f8-9f7e0a52f7a0");
/// assert_eq!(id.to_string(), "0d1c9d0e-6a0b-4a0e-a4f8-9f7e0a52f7a0");
/// assert_eq!(AuditId::from("mine").to_string(), "mine");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditId(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// A UUID in the form that servers write it.
    Uuid([u8; 16]),
    Text(Box<str>),
}

impl AuditId {
    /// Returns the memory that is not part of the value itself.
    pub(crate) fn heap_size(&self) -> usize {
        match &self.0 {
            Form::Uuid(_) => 0,
            Form::Text(text) => text.len(),
        }
    }
}

impl Default for AuditId {
    fn default() -> Self {
        Self(Form::Text(Box::default()))
    }
}

impl From<&str> for AuditId {
    fn from(text: &str) -> Self {
        Self(match uuid(text) {
            Some(uuid) => Form::Uuid(uuid),
            None => Form::Text(text.into()),
        })
    }
}

impl fmt::Display for AuditId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = match &self.0 {
            Form::Uuid(bytes) => bytes,
            Form::Text(text) => return f.write_str(text),
        };
        for (n, byte) in bytes.iter().enumerate() {
            if matches!(n, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// Parses a UUID with lower-case digits, so that it is printed as it was.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    if DASHES.iter().any(|&at| text[at] != b'-') {
        return None;
    }
    let mut uuid = [0; 16];
    for (byte, at) in uuid.iter_mut().zip(PAIRS) {
        let [high, low] = [text[at], text[at + 1]].map(|digit| DIGITS[digit as usize]);
        if high.max(low) == NO_DIGIT {
            return None;
        }
        *byte = high << 4 | low;
    }
    Some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_printed_as_it_was() {
        for text in [
            "0d1c9d0e-6a0b-4a0e-a4f8-9f7e0a52f7a0",
            "00000000-0000-0000-0000-000000000000",
            "0D1C9D0E-6A0B-4A0E-A4F8-9F7E0A52F7A0",
            "0d1c9d0e_6a0b-4a0e-a4f8-9f7e0a52f7a0",
            "0d1c9d0e-6a0b-4a0e-a4f8-9f7e0a52f7aß",
            "mine",
            "",
        ] {
            assert_eq!(AuditId::from(text).to_string(), text);
        }
        let uuid = AuditId::from("0d1c9d0e-6a0b-4a0e-a4f8-9f7e0a52f7a0");
        assert_eq!(uuid.heap_size(), 0);
    }
}

//! [`AuditId`]: the audit id of a request, in little memory.

use std::fmt;

/// The positions of the dashes of a UUID.
const DASHES: [usize; 4] = [8, 13, 18, 23];

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
    if text.len() != 36 {
        return None;
    }
    let (mut uuid, mut digits) = ([0; 16], 0);
    for (n, byte) in text.bytes().enumerate() {
        let digit = match (DASHES.contains(&n), byte) {
            (true, b'-') => continue,
            (false, b'0'..=b'9') => byte - b'0',
            (false, b'a'..=b'f') => byte - b'a' + 10,
            _ => return None,
        };
        let pair: &mut u8 = uuid.get_mut(digits / 2)?;
        *pair = *pair << 4 | digit;
        digits += 1;
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

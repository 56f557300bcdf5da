//! Protobuf's wire format: varints and length-delimited fields.

use bytes::Bytes;

/// A malformed message.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("etcd sent a truncated or malformed message")]
pub(crate) struct Malformed;

/// A message under construction.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

/// The fields of a message, in wire order.
pub(crate) struct Reader(Bytes);

/// The value of a field.
pub(crate) enum Value {
    Varint(u64),
    Bytes(Bytes),
    /// A fixed-size number, which is not used by any message.
    Fixed,
}

impl Writer {
    /// Writes a number, unless it is zero.
    pub(crate) fn number(self, field: u32, number: i64) -> Self {
        match number {
            0 => self,
            number => self.set_number(field, number),
        }
    }

    /// Writes a number, even if it is zero.
    pub(crate) fn set_number(mut self, field: u32, number: i64) -> Self {
        self.varint(u64::from(field << 3));
        self.varint(number as u64);
        self
    }

    /// Writes bytes, unless they are empty.
    pub(crate) fn bytes(self, field: u32, bytes: &[u8]) -> Self {
        match bytes {
            [] => self,
            bytes => self.message(field, bytes),
        }
    }

    /// Writes a message, even if it is empty.
    pub(crate) fn message(mut self, field: u32, message: &[u8]) -> Self {
        self.varint(u64::from(field << 3 | 2));
        self.varint(message.len() as u64);
        self.0.extend_from_slice(message);
        self
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

impl Reader {
    pub(crate) fn new(message: Bytes) -> Self {
        Self(message)
    }

    /// Returns the next field and its value.
    pub(crate) fn next(&mut self) -> Result<Option<(u32, Value)>, Malformed> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let field = u32::try_from(tag >> 3).map_err(|_| Malformed)?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(usize::try_from(length).map_err(|_| Malformed)?)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            _ => return Err(Malformed),
        };
        Ok(Some((field, value)))
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for (index, byte) in self.0.iter().take(10).enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                let _ = self.0.split_to(index + 1);
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    fn take(&mut self, length: usize) -> Result<Bytes, Malformed> {
        match length <= self.0.len() {
            true => Ok(self.0.split_to(length)),
            false => Err(Malformed),
        }
    }
}

impl Value {
    pub(crate) fn number(self) -> Result<i64, Malformed> {
        match self {
            Self::Varint(number) => Ok(number as i64),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn bytes(self) -> Result<Bytes, Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn text(self) -> Result<String, Malformed> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_round_trip() {
        let written = Writer::default()
            .number(1, -1)
            .number(2, 0)
            .set_number(3, 0)
            .bytes(4, b"")
            .message(5, b"")
            .bytes(600, b"abc")
            .number(7, i64::MAX)
            .finish();
        let mut reader = Reader::new(written.into());
        let mut read = Vec::new();
        while let Some((field, value)) = reader.next().unwrap() {
            let value = match value {
                Value::Varint(number) => (number as i64).to_string(),
                Value::Bytes(bytes) => format!("{bytes:?}"),
                Value::Fixed => "fixed".into(),
            };
            read.push((field, value));
        }
        let expected = [(1, "-1"), (3, "0"), (5, "b\"\""), (600, "b\"abc\"")];
        let expected = expected.map(|(field, value)| (field, value.to_owned()));
        assert_eq!(read[..4], expected);
        assert_eq!(read[4], (7, i64::MAX.to_string()));
    }

    #[test]
    fn no_bytes_cause_a_panic() {
        let good = Writer::default()
            .number(1, 300)
            .bytes(2, b"abcdef")
            .finish();
        for cut in 0..good.len() {
            for byte in 0..=255 {
                let mut bytes = good.clone();
                bytes[cut] = byte;
                bytes.truncate(good.len() - cut % 3);
                let mut reader = Reader::new(bytes.into());
                while let Ok(Some(_)) = reader.next() {}
            }
        }
    }
}

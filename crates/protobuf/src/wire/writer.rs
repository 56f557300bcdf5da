//! A buffer that grows towards the front.

use super::{FIXED64, LENGTH, VARINT};

/// A buffer that is written back to front: the last field first, its value before its tag.
#[derive(Default)]
pub(crate) struct Writer {
    /// Free space, followed by the written bytes.
    buffer: Vec<u8>,
    /// The index of the first written byte.
    start: usize,
}

impl Writer {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Writer {
            buffer: vec![0; bytes],
            start: bytes,
        }
    }

    /// Returns the number of written bytes. The difference of two of these is the length of a message.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.start < bytes.len() {
            self.grow(bytes.len());
        }
        let end = self.start;
        self.start -= bytes.len();
        self.buffer[self.start..end].copy_from_slice(bytes);
    }

    #[inline]
    pub(crate) fn varint(&mut self, value: u64) {
        if value < 0x80 && self.start > 0 {
            self.start -= 1;
            self.buffer[self.start] = value as u8;
        } else {
            self.long_varint(value);
        }
    }

    fn long_varint(&mut self, mut value: u64) {
        let mut text = [0; 10];
        let mut length = 0;
        while value >= 0x80 {
            text[length] = (value & 0x7f) as u8 | 0x80;
            value >>= 7;
            length += 1;
        }
        text[length] = value as u8;
        self.bytes(&text[..=length]);
    }

    pub(crate) fn tag(&mut self, number: u32, wire: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire));
    }

    pub(crate) fn varint_field(&mut self, number: u32, value: u64) {
        self.varint(value);
        self.tag(number, VARINT);
    }

    pub(crate) fn fixed64_field(&mut self, number: u32, value: u64) {
        self.bytes(&value.to_le_bytes());
        self.tag(number, FIXED64);
    }

    pub(crate) fn bytes_field(&mut self, number: u32, bytes: &[u8]) {
        self.bytes(bytes);
        self.varint(bytes.len() as u64);
        self.tag(number, LENGTH);
    }

    /// Puts tag and length in front of everything written since [`Writer::len`] was `mark`.
    pub(crate) fn close(&mut self, number: u32, mark: usize) {
        self.varint((self.len() - mark) as u64);
        self.tag(number, LENGTH);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.buffer.drain(..self.start);
        self.buffer
    }

    /// Returns the written bytes.
    pub(crate) fn written(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Forgets the written bytes and keeps the buffer.
    pub(crate) fn clear(&mut self) {
        self.start = self.buffer.len();
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let size = (self.buffer.len() * 2).max(self.len() + more).max(256);
        let mut buffer = vec![0; size];
        let start = size - self.len();
        buffer[start..].copy_from_slice(&self.buffer[self.start..]);
        self.buffer = buffer;
        self.start = start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_take_seven_bits_to_a_byte() {
        for (value, bytes) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (u64::MAX, &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] {
            let mut writer = Writer::with_capacity(0);
            writer.varint(value);
            assert_eq!(writer.finish(), bytes, "{value}");
        }
    }

    #[test]
    fn a_message_is_written_back_to_front() {
        let mut writer = Writer::with_capacity(1);
        let mark = writer.len();
        writer.bytes_field(2, &[7; 300]);
        writer.varint_field(1, 1);
        writer.close(16, mark);
        let bytes = writer.finish();
        assert_eq!(bytes[..9], [0x82, 1, 0xb1, 2, 8, 1, 0x12, 0xac, 2]);
        assert_eq!(bytes[9..], [7; 300]);
    }
}

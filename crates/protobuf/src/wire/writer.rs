//! A buffer that grows towards the front, and one that only counts.

use super::{FIXED64, LENGTH, VARINT};

/// A message that is written back to front: the last field first, its value before its tag.
pub(crate) trait Sink {
    /// Returns the number of written bytes. The difference of two of these is the length of a message.
    fn len(&self) -> usize;

    fn bytes(&mut self, bytes: &[u8]);

    fn varint(&mut self, value: u64);

    #[inline]
    fn tag(&mut self, number: u32, wire: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire));
    }

    #[inline]
    fn varint_field(&mut self, number: u32, value: u64) {
        self.varint(value);
        self.tag(number, VARINT);
    }

    fn fixed64_field(&mut self, number: u32, value: u64) {
        self.bytes(&value.to_le_bytes());
        self.tag(number, FIXED64);
    }

    #[inline]
    fn bytes_field(&mut self, number: u32, bytes: &[u8]) {
        self.bytes(bytes);
        self.varint(bytes.len() as u64);
        self.tag(number, LENGTH);
    }

    /// Puts tag and length in front of everything written since [`Sink::len`] was `mark`.
    #[inline]
    fn close(&mut self, number: u32, mark: usize) {
        self.varint((self.len() - mark) as u64);
        self.tag(number, LENGTH);
    }
}

/// Counts the bytes of a message.
#[derive(Default)]
pub(crate) struct Counter(usize);

impl Sink for Counter {
    #[inline]
    fn len(&self) -> usize {
        self.0
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }

    #[inline]
    fn varint(&mut self, value: u64) {
        // Seven bits to a byte, and one byte for 0.
        self.0 += (value | 1).ilog2() as usize / 7 + 1;
    }
}

/// A buffer that is written back to front.
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

impl Sink for Writer {
    #[inline]
    fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        if self.start < bytes.len() {
            self.grow(bytes.len());
        }
        let end = self.start;
        self.start -= bytes.len();
        self.buffer[self.start..end].copy_from_slice(bytes);
    }

    #[inline]
    fn varint(&mut self, value: u64) {
        if value < 0x80 && self.start > 0 {
            self.start -= 1;
            self.buffer[self.start] = value as u8;
        } else if value < 0x4000 && self.start > 1 {
            self.start -= 2;
            self.buffer[self.start] = value as u8 | 0x80;
            self.buffer[self.start + 1] = (value >> 7) as u8;
        } else {
            self.long_varint(value);
        }
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
            let mut counter = Counter::default();
            counter.varint(value);
            assert_eq!(counter.len(), bytes.len(), "{value}");
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

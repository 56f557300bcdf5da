//! A vector that grows in chunks, without moving its contents.
//!
//! A vector of a million entries is copied twenty times while it grows, and needs the room twice at the end.

/// The size of a chunk, as a power of two.
const BITS: u32 = 10;
const CHUNK: usize = 1 << BITS;

/// Values by their number.
#[derive(Debug)]
pub(super) struct Slots<T> {
    /// All full but the last.
    chunks: Vec<Vec<T>>,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        let last = self.chunks.last().map_or(0, Vec::len);
        self.chunks.len().saturating_sub(1) * CHUNK + last
    }

    #[inline]
    pub(super) fn at(&mut self, slot: u32) -> &mut T {
        &mut self.chunks[(slot >> BITS) as usize][slot as usize % CHUNK]
    }

    #[inline]
    pub(super) fn peek(&self, slot: u32) -> &T {
        &self.chunks[(slot >> BITS) as usize][slot as usize % CHUNK]
    }

    /// Adds a value and returns its number. 2^32 of them do not fit into memory.
    pub(super) fn push(&mut self, value: T) -> u32 {
        let slot = self.len() as u32;
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(value),
            // The first chunk grows as needed, since most queues are small.
            None => self.chunks.push(vec![value]),
            Some(_) => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(value);
                self.chunks.push(chunk);
            }
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_numbers_while_others_come() {
        let mut slots = Slots::new();
        for n in 0..3 * CHUNK as u32 + 1 {
            assert_eq!(slots.len(), n as usize);
            assert_eq!(slots.push(n), n);
        }
        for n in 0..3 * CHUNK as u32 + 1 {
            *slots.at(n) += 1;
            assert_eq!(*slots.peek(n), n + 1);
        }
    }
}

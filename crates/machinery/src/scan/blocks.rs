//! Scanning JSON in blocks of 64 bytes: strings and brackets as bit masks.
//!
//! Bit n of a mask is for byte n of the block. Sixteen bytes are compared at once.

use super::lanes::Lanes;

/// The size of a block.
pub const BLOCK: usize = 64;

/// The state carried from one block to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carry {
    /// True if the block starts within a string.
    pub in_string: bool,
    /// True if the first byte of the block is escaped.
    pub escaped: bool,
}

/// The brackets of a block outside strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brackets {
    /// `{` and `[`.
    pub opening: u64,
    /// `}` and `]`.
    pub closing: u64,
}

/// The significant bytes of a block, inside and outside strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Masks {
    quotes: u64,
    escapes: u64,
    opening: u64,
    closing: u64,
}

/// Returns the brackets of a block, and the state for the next.
///
/// ```
/// use kubewright_machinery::scan::{BLOCK, Carry, brackets};
///
/// let mut block = [b' '; BLOCK];
/// block[..8].copy_from_slice(br#"{"a":"{""#);
/// let (found, next) = brackets(&block, Carry::default());
/// // The second brace is part of a string.
/// assert_eq!((found.opening, found.closing), (1, 0));
/// assert!(!next.in_string);
/// ```
#[inline]
pub fn brackets(block: &[u8; BLOCK], carry: Carry) -> (Brackets, Carry) {
    let masks = masks(block);
    let (escaped, escapes_next) = if masks.escapes == 0 {
        (u64::from(carry.escaped), false)
    } else {
        escaped(masks.escapes, carry.escaped)
    };
    // Each bit says whether the number of quotes up to it is odd.
    let mut within = masks.quotes & !escaped;
    for shift in [1, 2, 4, 8, 16, 32] {
        within ^= within << shift;
    }
    if carry.in_string {
        within = !within;
    }
    let brackets = Brackets {
        opening: masks.opening & !within,
        closing: masks.closing & !within,
    };
    let carry = Carry {
        in_string: within >> 63 == 1,
        escaped: escapes_next,
    };
    (brackets, carry)
}

impl Brackets {
    /// Returns the position after which nothing is open any more, given the `depth` at the start.
    pub fn end(self, mut depth: u32) -> Option<usize> {
        let mut both = self.opening | self.closing;
        while both != 0 {
            let at = both.trailing_zeros();
            both &= both - 1;
            if self.opening >> at & 1 == 1 {
                depth += 1;
                continue;
            }
            depth -= 1;
            if depth == 0 {
                return Some(at as usize + 1);
            }
        }
        None
    }
}

/// Returns the bytes that are escaped by the one before, and whether the first of the next block is.
#[cold]
fn escaped(mut escapes: u64, first: bool) -> (u64, bool) {
    let mut escaped = u64::from(first);
    escapes &= !escaped;
    while escapes != 0 {
        let at = escapes.trailing_zeros();
        if at == 63 {
            return (escaped, true);
        }
        escaped |= 2 << at;
        escapes &= !(3 << at);
    }
    (escaped, false)
}

/// Brackets differ from braces in this bit only, and no other character becomes one by it.
const BRACE_BIT: u8 = 0x20;

#[inline]
fn masks(block: &[u8; BLOCK]) -> Masks {
    let mut masks = Masks::default();
    let (quarters, _) = block.as_chunks::<16>();
    for (n, quarter) in quarters.iter().enumerate() {
        let bytes = Lanes::new(*quarter);
        let braces = bytes.with(BRACE_BIT);
        let bits = |found: u16| u64::from(found) << (n * 16);
        masks.quotes |= bits(bytes.equal(b'"'));
        masks.escapes |= bits(bytes.equal(b'\\'));
        masks.opening |= bits(braces.equal(b'{'));
        masks.closing |= bits(braces.equal(b'}'));
    }
    masks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn block() -> impl Strategy<Value = [u8; BLOCK]> {
        let byte = prop_oneof![any::<u8>(), prop::sample::select(&b"\"\"\\\\{}[]"[..])];
        prop::collection::vec(byte, BLOCK).prop_map(|bytes| bytes.try_into().expect("a block"))
    }

    /// Byte by byte, as JSON is defined.
    fn walked(block: &[u8; BLOCK], mut carry: Carry) -> (Brackets, Carry) {
        let (mut opening, mut closing) = (0, 0);
        for (n, byte) in block.iter().enumerate() {
            let escaped = std::mem::take(&mut carry.escaped);
            match byte {
                _ if escaped => {}
                b'\\' => carry.escaped = true,
                b'"' => carry.in_string = !carry.in_string,
                _ => {}
            }
            if !carry.in_string {
                opening |= u64::from(matches!(byte, b'{' | b'[')) << n;
                closing |= u64::from(matches!(byte, b'}' | b']')) << n;
            }
        }
        (Brackets { opening, closing }, carry)
    }

    proptest! {
        #[test]
        fn a_block_says_what_a_walk_over_its_bytes_says(block in block(), in_string in any::<bool>(), escaped in any::<bool>()) {
            let carry = Carry { in_string, escaped };
            prop_assert_eq!(brackets(&block, carry), walked(&block, carry));
        }
    }
}

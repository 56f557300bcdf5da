//! [`Lanes`]: sixteen bytes that are compared at once.
//!
//! On x86-64 with instructions that every processor of the architecture has, elsewhere with those for integers.

/// Sixteen bytes.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Lanes(safe_arch::m128i);

#[cfg(target_arch = "x86_64")]
impl Lanes {
    #[inline(always)]
    pub(super) fn new(bytes: [u8; 16]) -> Self {
        Self(safe_arch::m128i::from(bytes))
    }

    /// Sets a bit in every byte.
    #[inline(always)]
    pub(super) fn with(self, bit: u8) -> Self {
        Self(safe_arch::bitor_m128i(self.0, splat(bit)))
    }

    /// Returns a mask of the bytes that equal one: bit n is for byte n.
    #[inline(always)]
    pub(super) fn equal(self, byte: u8) -> u16 {
        let equal = safe_arch::cmp_eq_mask_i8_m128i(self.0, splat(byte));
        safe_arch::move_mask_i8_m128i(equal) as u16
    }

    /// Returns a mask of the bytes that equal one of two.
    #[inline(always)]
    pub(super) fn equal_either(self, a: u8, b: u8) -> u16 {
        let a = safe_arch::cmp_eq_mask_i8_m128i(self.0, splat(a));
        let b = safe_arch::cmp_eq_mask_i8_m128i(self.0, splat(b));
        safe_arch::move_mask_i8_m128i(safe_arch::bitor_m128i(a, b)) as u16
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn splat(byte: u8) -> safe_arch::m128i {
    safe_arch::set_splat_i8_m128i(byte.cast_signed())
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use integers::Lanes;

#[cfg(any(test, not(target_arch = "x86_64")))]
mod integers {
    /// A one in every byte.
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    /// All bits but the highest of every byte.
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    /// Gathers the lowest bits of all bytes in the highest byte of the product.
    const GATHER: u64 = 0x0102_0408_1020_4080;

    /// Sixteen bytes as two integers.
    #[derive(Clone, Copy)]
    pub(crate) struct Lanes([u64; 2]);

    impl Lanes {
        #[inline(always)]
        pub(crate) fn new(bytes: [u8; 16]) -> Self {
            let whole = u128::from_le_bytes(bytes);
            Self([whole as u64, (whole >> 64) as u64])
        }

        #[inline(always)]
        pub(crate) fn with(self, bit: u8) -> Self {
            Self(self.0.map(|half| half | (ONES * u64::from(bit))))
        }

        #[inline(always)]
        pub(crate) fn equal(self, byte: u8) -> u16 {
            let [low, high] = self.0.map(|half| {
                let differences = half ^ (ONES * u64::from(byte));
                // The highest bit of each byte is set where the others are not, nor itself.
                let equal = !(((differences & LOW) + LOW) | differences | LOW);
                (equal >> 7).wrapping_mul(GATHER) >> 56
            });
            (low | (high << 8)) as u16
        }

        #[inline(always)]
        pub(crate) fn equal_either(self, a: u8, b: u8) -> u16 {
            self.equal(a) | self.equal(b)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mask(bytes: [u8; 16], is_equal: impl Fn(u8) -> bool) -> u16 {
        let bits = bytes.iter().enumerate();
        bits.fold(0, |mask, (n, byte)| {
            mask | (u16::from(is_equal(*byte)) << n)
        })
    }

    proptest! {
        #[test]
        fn masks_are_those_of_a_loop(bytes in any::<[u8; 16]>(), at in 0..16_usize, b in any::<u8>(), bit in 0..8_u32) {
            let (a, bit) = (bytes[at], 1 << bit);
            let expected = (
                mask(bytes, |byte| byte == a),
                mask(bytes, |byte| byte == a || byte == b),
                mask(bytes, |byte| (byte | bit) == a),
            );
            let own = Lanes::new(bytes);
            prop_assert_eq!((own.equal(a), own.equal_either(a, b), own.with(bit).equal(a)), expected);
            let plain = integers::Lanes::new(bytes);
            prop_assert_eq!((plain.equal(a), plain.equal_either(a, b), plain.with(bit).equal(a)), expected);
        }
    }
}

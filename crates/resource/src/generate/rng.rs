//! [`Rng`]: a seeded random number generator.

/// A random number generator that gives the same numbers for the same seed (splitmix64). Not for cryptography.
///
/// ```
/// use kubewright_resource::generate::Rng;
///
/// assert_eq!(Rng::new(7).number(), Rng::new(7).number());
/// assert!(Rng::new(7).below(10) < 10);
/// ```
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        match u64::try_from(bound) {
            Ok(0) | Err(_) => 0,
            Ok(bound) => (self.number() % bound) as usize,
        }
    }

    /// Returns a number from `low` to `high`, both included, or `low` if the range is empty.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = i128::from(high) - i128::from(low) + 1;
        if span <= 1 {
            return low;
        }
        let step = i128::from(self.number()) % span;
        i64::try_from(i128::from(low) + step).unwrap_or(low)
    }

    /// Returns `true` with a probability of one in `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns one of the items, or `None` if there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

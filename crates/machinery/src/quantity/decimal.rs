//! Exact decimal numbers: a sign, digits, and a power of ten.
//!
//! Digits are kept in limbs of nine, lowest first, so that shifting by powers of ten and printing stay linear. A number
//! is normal when it has no leading zero limbs and no trailing zero digits; zero has no limbs and exponent 0. Every
//! operation returns normal numbers, so equal numbers are equal field by field.

use std::cmp::Ordering;

const LIMB: u32 = 1_000_000_000;
const LIMB_DIGITS: usize = 9;
/// The digits that surely fit into 64 bits.
const SHORT_DIGITS: usize = 18;
/// The largest difference in size between two numbers that are added exactly.
const MAX_GAP: i64 = 4096;

/// `±digits × 10^exponent`
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Decimal {
    negative: bool,
    limbs: Vec<u32>,
    exponent: i64,
}

impl Decimal {
    /// Reads ASCII digits; other bytes are skipped.
    pub(super) fn from_digits(negative: bool, digits: &str, exponent: i64) -> Self {
        if digits.len() <= SHORT_DIGITS {
            let digits = digits.bytes().filter(u8::is_ascii_digit);
            let value = digits.fold(0, |n, d| n * 10 + u64::from(d - b'0'));
            return Self::from_magnitude(negative, value, exponent);
        }
        let digits: Vec<u8> = digits
            .bytes()
            .filter(u8::is_ascii_digit)
            .map(|b| b - b'0')
            .collect();
        let limbs = digits
            .rchunks(LIMB_DIGITS)
            .map(|chunk| chunk.iter().fold(0, |n, &d| n * 10 + u32::from(d)))
            .collect();
        Self {
            negative,
            limbs,
            exponent,
        }
        .normal()
    }

    /// `value × 10^exponent`
    pub(super) fn from_int(value: i64, exponent: i64) -> Self {
        Self::from_magnitude(value < 0, value.unsigned_abs(), exponent)
    }

    /// `±value × 10^exponent`
    fn from_magnitude(negative: bool, mut value: u64, mut exponent: i64) -> Self {
        if value == 0 {
            return Self::default();
        }
        while value.is_multiple_of(10) {
            value /= 10;
            exponent = exponent.saturating_add(1);
        }
        let mut limbs = Vec::with_capacity(if value < u64::from(LIMB) { 1 } else { 3 });
        while value > 0 {
            limbs.push((value % u64::from(LIMB)) as u32);
            value /= u64::from(LIMB);
        }
        Self {
            negative,
            limbs,
            exponent,
        }
    }

    /// The number without its sign, if it is an integer of at most 18 digits.
    pub(super) fn short_magnitude(&self) -> Option<u64> {
        let digits = u64::from(LIMB).pow(2);
        let factor = 10u64.checked_pow(u32::try_from(self.exponent).ok()?)?;
        let value = match *self.limbs.as_slice() {
            [] => 0,
            [low] => u64::from(low),
            [low, high] => u64::from(high) * u64::from(LIMB) + u64::from(low),
            _ => return None,
        };
        value.checked_mul(factor).filter(|value| *value < digits)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    pub(super) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    pub(super) fn abs(&self) -> Self {
        Self {
            negative: false,
            ..self.clone()
        }
    }

    pub(super) fn neg(&self) -> Self {
        Self {
            negative: !self.negative && !self.is_zero(),
            ..self.clone()
        }
    }

    /// The sum. Where one number is more than 10^4096 times the other, the smaller one is lost.
    pub(super) fn add(&self, other: &Self) -> Self {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let gap = self.magnitude() - other.magnitude();
        if gap > MAX_GAP {
            return self.clone();
        }
        if gap < -MAX_GAP {
            return other.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        let a = self.limbs_at(exponent);
        let b = other.limbs_at(exponent);
        let (negative, limbs) = if self.negative == other.negative {
            (self.negative, add_limbs(&a, &b))
        } else if cmp_limbs(&a, &b) == Ordering::Less {
            (other.negative, sub_limbs(&b, &a))
        } else {
            (self.negative, sub_limbs(&a, &b))
        };
        Self {
            negative,
            limbs,
            exponent,
        }
        .normal()
    }

    /// Multiplies by a factor below 10^9.
    pub(super) fn mul_small(&self, factor: u32) -> Self {
        Self {
            limbs: mul_limbs(&self.limbs, factor),
            ..*self
        }
        .normal()
    }

    /// Reports whether it is a multiple of 10^exponent.
    pub(super) fn is_multiple(&self, exponent: i64) -> bool {
        self.exponent >= exponent || self.is_zero()
    }

    /// A multiple of 10^exponent, away from zero if need be.
    pub(super) fn round_up(&self, exponent: i64) -> Self {
        if self.is_multiple(exponent) {
            return self.clone();
        }
        // The lowest digit of a normal number is not zero, so something is always cut off.
        let cut = usize::try_from(exponent - self.exponent).unwrap_or(usize::MAX);
        let (whole, part) = (cut / LIMB_DIGITS, cut % LIMB_DIGITS);
        let mut limbs = self.limbs.get(whole..).unwrap_or_default().to_vec();
        div_small(&mut limbs, 10u32.pow(part as u32));
        Self {
            negative: self.negative,
            limbs: add_limbs(&limbs, &[1]),
            exponent,
        }
        .normal()
    }

    /// Divides by 1024 as often as possible without a remainder; returns how often. Only for integers of bounded size.
    pub(super) fn strip_1024(&self) -> Option<(Self, usize)> {
        if !(0..=MAX_GAP).contains(&self.exponent) {
            return None;
        }
        let mut limbs = self.limbs_at(0);
        let mut times = 0;
        loop {
            let mut next = limbs.clone();
            if next.is_empty() || div_small(&mut next, 1024) != 0 {
                break;
            }
            trim(&mut next);
            limbs = next;
            times += 1;
        }
        let stripped = Self {
            negative: self.negative,
            limbs,
            exponent: 0,
        };
        Some((stripped.normal(), times))
    }

    /// The digits with a sign, padded with zeros so that the exponent is a multiple of `step`, and that exponent.
    pub(super) fn digits(&self, step: i64) -> (String, i64) {
        let pad = self.exponent.rem_euclid(step);
        let mut out = if self.negative {
            "-".to_owned()
        } else {
            String::new()
        };
        for (i, limb) in self.limbs.iter().rev().enumerate() {
            if i == 0 {
                out.push_str(&limb.to_string());
            } else {
                out.push_str(&format!("{limb:09}"));
            }
        }
        out.extend((0..pad).map(|_| '0'));
        (out, self.exponent - pad)
    }

    /// The integer that it is at 10^exponent, rounded away from zero; the nearest `i64` if it does not fit.
    pub(super) fn to_i64(&self, exponent: i64) -> i64 {
        let rounded = self.round_up(exponent);
        let limit = if self.negative { i64::MIN } else { i64::MAX };
        if rounded.magnitude() - exponent > 20 {
            return limit;
        }
        let mut out: i128 = 0;
        for &limb in rounded.limbs_at(exponent).iter().rev() {
            out = out * i128::from(LIMB) + i128::from(limb);
        }
        i64::try_from(if self.negative { -out } else { out }).unwrap_or(limit)
    }

    /// The nearest floating point number, give or take rounding.
    pub(super) fn to_f64(&self) -> f64 {
        let (digits, exponent) = self.digits(1);
        format!(
            "{}e{exponent}",
            if digits.is_empty() { "0" } else { &digits }
        )
        .parse()
        .unwrap_or_default()
    }

    /// The power of ten just above.
    fn magnitude(&self) -> i64 {
        let top = self
            .limbs
            .last()
            .map_or(0, |l| l.checked_ilog10().map_or(0, |n| n + 1));
        let low = self.limbs.len().saturating_sub(1) * LIMB_DIGITS;
        self.exponent
            .saturating_add(low as i64)
            .saturating_add(i64::from(top))
    }

    /// The limbs when the exponent is lowered to the one given.
    fn limbs_at(&self, exponent: i64) -> Vec<u32> {
        let zeros = usize::try_from(self.exponent - exponent).unwrap_or(0);
        let mut limbs = vec![0; zeros / LIMB_DIGITS];
        limbs.extend(mul_limbs(
            &self.limbs,
            10u32.pow((zeros % LIMB_DIGITS) as u32),
        ));
        limbs
    }

    fn normal(mut self) -> Self {
        trim(&mut self.limbs);
        let zeros = self.limbs.iter().take_while(|&&l| l == 0).count();
        self.limbs.drain(..zeros);
        self.exponent = self.exponent.saturating_add((zeros * LIMB_DIGITS) as i64);
        while self.limbs.first().is_some_and(|l| l % 10 == 0) {
            div_small(&mut self.limbs, 10);
            self.exponent = self.exponent.saturating_add(1);
        }
        trim(&mut self.limbs);
        if self.limbs.is_empty() {
            return Self::default();
        }
        self
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |d: &Self| match (d.is_zero(), d.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_size = || {
            self.magnitude().cmp(&other.magnitude()).then_with(|| {
                let exponent = self.exponent.min(other.exponent);
                cmp_limbs(&self.limbs_at(exponent), &other.limbs_at(exponent))
            })
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            if self.is_zero() {
                Ordering::Equal
            } else if self.negative {
                by_size().reverse()
            } else {
                by_size()
            }
        })
    }
}

fn trim(limbs: &mut Vec<u32>) {
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
}

fn cmp_limbs(a: &[u32], b: &[u32]) -> Ordering {
    a.len()
        .cmp(&b.len())
        .then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

fn add_limbs(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut carry = 0;
    let mut out = Vec::with_capacity(a.len().max(b.len()) + 1);
    for i in 0..a.len().max(b.len()) {
        let n = a.get(i).unwrap_or(&0) + b.get(i).unwrap_or(&0) + carry;
        out.push(n % LIMB);
        carry = n / LIMB;
    }
    if carry > 0 {
        out.push(carry);
    }
    out
}

/// `a - b`, for `a >= b`.
fn sub_limbs(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut borrow = 0;
    let mut out = Vec::with_capacity(a.len());
    for (i, &limb) in a.iter().enumerate() {
        let take = b.get(i).unwrap_or(&0) + borrow;
        borrow = u32::from(limb < take);
        out.push(limb + borrow * LIMB - take);
    }
    out
}

fn mul_limbs(limbs: &[u32], factor: u32) -> Vec<u32> {
    let mut carry = 0u64;
    let mut out = Vec::with_capacity(limbs.len() + 1);
    for &limb in limbs {
        let n = u64::from(limb) * u64::from(factor) + carry;
        out.push((n % u64::from(LIMB)) as u32);
        carry = n / u64::from(LIMB);
    }
    if carry > 0 {
        out.push(carry as u32);
    }
    out
}

/// Divides in place and returns the remainder.
fn div_small(limbs: &mut [u32], divisor: u32) -> u32 {
    let mut rest = 0u64;
    for limb in limbs.iter_mut().rev() {
        let n = rest * u64::from(LIMB) + u64::from(*limb);
        *limb = (n / u64::from(divisor)) as u32;
        rest = n % u64::from(divisor);
    }
    rest as u32
}

//! Quantities: `500m` of CPU, `1536Mi` of memory.
//!
//! A [`Quantity`] is an exact decimal number with at most nine decimal places, and a format that says how to print it.
//! Parsing, rounding and printing follow `resource.Quantity` to the letter, including where that keeps the text it was
//! given (`1.500`) or loses a suffix beyond those it knows (`1000E`).
//!
//! Two quantities are equal, and sort, by their number alone.

mod decimal;
mod parse;
#[cfg(test)]
mod tests;

use std::{cmp::Ordering, fmt, hash, ops, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use decimal::Decimal;

/// An amount of a resource.
#[derive(Clone, Debug)]
pub struct Quantity {
    number: Decimal,
    format: Format,
    /// The parsed text, if it is also the printed form.
    text: Option<Box<str>>,
}

/// The notation in which a [`Quantity`] is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// `12M`, powers of 1000 by letter.
    #[default]
    DecimalSi,
    /// `12Mi`, powers of 1024.
    BinarySi,
    /// `12e6`, powers of 1000 by number.
    DecimalExponent,
}

/// A text that is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is not a number with a suffix.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// The number does not parse.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// The suffix is not one of those that are known.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

impl Quantity {
    /// Parses a quantity: `0.5`, `100m`, `1.5Gi`, `12e6`. More than nine decimal places are rounded up.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a number with an optional suffix.
    ///
    /// ```
    /// use kubewright_machinery::quantity::Quantity;
    ///
    /// let cpu = Quantity::parse("1.5")?;
    /// assert_eq!(cpu.to_string(), "1500m");
    /// # Ok::<(), kubewright_machinery::quantity::QuantityError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        parse::parse(text)
    }

    /// Creates a quantity of `value` units.
    pub fn new(value: i64, format: Format) -> Self {
        Self::from_number(Decimal::from_int(value, 0), format)
    }

    /// Creates a quantity of `value` thousandths.
    ///
    /// ```
    /// use kubewright_machinery::quantity::{Format, Quantity};
    ///
    /// assert_eq!(Quantity::new_milli(1500, Format::DecimalSi).to_string(), "1500m");
    /// ```
    pub fn new_milli(value: i64, format: Format) -> Self {
        Self::from_number(Decimal::from_int(value, -3), format)
    }

    /// Returns the quantity 0.
    pub fn zero() -> Self {
        Self::new(0, Format::DecimalSi)
    }

    /// Returns the notation in which the quantity is printed.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Reports whether the quantity is 0.
    pub fn is_zero(&self) -> bool {
        self.number.is_zero()
    }

    /// Returns the sign: -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        match (self.number.is_zero(), self.number.is_negative()) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// Returns the number of units, rounded away from zero; saturates.
    pub fn value(&self) -> i64 {
        self.scaled_value(0)
    }

    /// Returns the number of thousandths, rounded away from zero; saturates.
    pub fn milli_value(&self) -> i64 {
        self.scaled_value(-3)
    }

    /// Returns the number of units of 10^scale, rounded away from zero; saturates.
    pub fn scaled_value(&self, scale: i32) -> i64 {
        self.number.to_i64(i64::from(scale))
    }

    /// Returns the nearest floating point number.
    pub fn as_f64(&self) -> f64 {
        self.number.to_f64()
    }

    /// Reports whether the quantity is a whole number of units.
    pub fn is_integer(&self) -> bool {
        self.number.is_integer()
    }

    /// Rounds away from zero to a multiple of 10^scale.
    #[must_use]
    pub fn round_up(&self, scale: i32) -> Self {
        if self.number.is_multiple(i64::from(scale)) {
            return self.clone();
        }
        Self::from_number(self.number.round_up(i64::from(scale)), self.format)
    }

    /// The canonical text, independent of the parsed form.
    pub fn canonical(&self) -> String {
        if self.is_zero() {
            return "0".into();
        }
        if let Some(binary) = self.canonical_binary() {
            return binary;
        }
        let (digits, exponent) = self.number.digits(3);
        if self.format == Format::DecimalExponent {
            return match exponent {
                0 => digits,
                _ => format!("{digits}e{exponent}"),
            };
        }
        let suffix = match exponent {
            -9 => "n",
            -6 => "u",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            12 => "T",
            15 => "P",
            18 => "E",
            _ => "",
        };
        digits + suffix
    }

    /// Prints in powers of 1024, if that is the format and the quantity is a multiple of one of them.
    fn canonical_binary(&self) -> Option<String> {
        const SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        if self.format != Format::BinarySi {
            return None;
        }
        if let Some(magnitude) = self.number.short_magnitude() {
            let times = magnitude.trailing_zeros() / 10;
            let sign = if self.number.is_negative() { "-" } else { "" };
            let suffix = SUFFIXES.get(times as usize).unwrap_or(&"");
            return (magnitude >= 1024)
                .then(|| format!("{sign}{}{suffix}", magnitude >> (10 * times)));
        }
        if self.number.abs() < Decimal::from_int(1024, 0) {
            return None;
        }
        let (number, times) = self.number.strip_1024()?;
        let (digits, exponent) = number.digits(1);
        let zeros = "0".repeat(usize::try_from(exponent).unwrap_or(0));
        Some(format!(
            "{digits}{zeros}{}",
            SUFFIXES.get(times).unwrap_or(&"")
        ))
    }

    fn from_number(number: Decimal, format: Format) -> Self {
        Self {
            number,
            format,
            text: None,
        }
    }

    fn plus(&self, other: &Self, number: &Decimal) -> Self {
        let format = if self.is_zero() {
            other.format
        } else {
            self.format
        };
        Self::from_number(self.number.add(number), format)
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::zero()
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => f.write_str(&self.canonical()),
        }
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::parse(text)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Quantity {}

impl hash::Hash for Quantity {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.number.cmp(&other.number)
    }
}

impl ops::Add<&Quantity> for &Quantity {
    type Output = Quantity;

    fn add(self, other: &Quantity) -> Quantity {
        self.plus(other, &other.number)
    }
}

impl ops::Sub<&Quantity> for &Quantity {
    type Output = Quantity;

    fn sub(self, other: &Quantity) -> Quantity {
        self.plus(other, &other.number.neg())
    }
}

impl ops::Neg for &Quantity {
    type Output = Quantity;

    fn neg(self) -> Quantity {
        Quantity::from_number(self.number.neg(), self.format)
    }
}

impl ops::AddAssign<&Quantity> for Quantity {
    fn add_assign(&mut self, other: &Quantity) {
        *self = &*self + other;
    }
}

impl ops::SubAssign<&Quantity> for Quantity {
    fn sub_assign(&mut self, other: &Quantity) {
        *self = &*self - other;
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Null => return Ok(Self::zero()),
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        Self::parse(text.trim()).map_err(de::Error::custom)
    }
}

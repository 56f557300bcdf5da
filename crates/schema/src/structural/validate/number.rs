//! Validates numbers: range, bounds, factors.

use kubewright_machinery::go;
use serde_json::{Number, Value};

use super::{
    super::model::{Checks, Kind},
    result::{Fault, Findings, Position},
};

/// The bounds beyond which floats do not represent every integer.
const LARGEST: f64 = 9_007_199_254_740_991.0;

pub(super) fn validate(
    n: &Number,
    checks: Option<&Checks>,
    kind: Kind,
    position: &Position<'_>,
    all: &mut Findings,
) {
    let format = checks
        .and_then(|c| c.format.as_ref())
        .map_or("", |f| f.name());
    let range = Range { kind, format };
    range.check(n, "Checked", position, all);
    let Some(checks) = checks else {
        return;
    };
    if let Some(factor) = checks.multiple_of {
        let native = range.check(&of(factor), "MultipleOf", position, all);
        validate_factor(n, factor, native, position, all);
    }
    if let Some(bound) = checks.minimum {
        let native = range.check(&of(bound), "Minimum boundary", position, all);
        let words = ["greater than or equal to", "greater than"];
        validate_bound(
            n,
            bound,
            checks.exclusive_minimum,
            native,
            words,
            position,
            all,
        );
    }
    if let Some(bound) = checks.maximum {
        let native = range.check(&of(bound), "Maximum boundary", position, all);
        let words = ["less than or equal to", "less than"];
        validate_bound(
            n,
            bound,
            checks.exclusive_maximum,
            native,
            words,
            position,
            all,
        );
    }
}

/// Reports whether Go takes a float for an integer.
pub(super) fn is_whole(f: f64) -> bool {
    if !f.is_finite() || f.abs() > LARGEST {
        return false;
    }
    let near = f.trunc();
    if f == near {
        return true;
    }
    let difference = (f - near).abs();
    f != 0.0 && near != 0.0 && difference / (f.abs() + near.abs()) < 1e-9
}

/// Reports whether a number, converted to the type of another, equals it.
pub(super) fn converts_to(n: &Number, other: &Number) -> bool {
    match (n.as_i64(), other.as_i64()) {
        (Some(a), Some(b)) => a == b,
        (None, Some(b)) => n.as_f64().is_some_and(|a| a.trunc() == b as f64),
        (_, None) => n.as_f64() == other.as_f64(),
    }
}

fn of(f: f64) -> Number {
    // Bounds are finite: they come from JSON.
    Number::from_f64(f).unwrap_or_else(|| 0.into())
}

struct Range<'a> {
    kind: Kind,
    format: &'a str,
}

impl Range<'_> {
    /// Reports whether a number fits that type and format; adds a finding if not.
    fn check(&self, n: &Number, what: &str, position: &Position<'_>, all: &mut Findings) -> bool {
        let value = n.as_f64().unwrap_or_default();
        let whole = || match n.as_i64() {
            Some(_) => true,
            None => value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0,
        };
        let fits = match (self.kind, self.format) {
            (Kind::Integer, "int32") => {
                whole() && value.abs() <= 2_147_483_648.0 && value != 2_147_483_648.0
            }
            (Kind::Integer, _) => whole(),
            (Kind::Number, "float") => value.abs() <= f64::from(f32::MAX),
            _ => true,
        };
        if !fits {
            let kind = self.kind.name();
            let with = match self.format {
                "" => "(default format)".to_owned(),
                format => format!("with format {format}"),
            };
            all.add(position, Fault::Composite, |name| {
                format!("{what} value must be of type {kind} {with} in {name}")
            });
        }
        fits
    }
}

fn validate_bound(
    n: &Number,
    bound: f64,
    exclusive: bool,
    native: bool,
    words: [&str; 2],
    position: &Position<'_>,
    all: &mut Findings,
) {
    let upper = words[1] == "less than";
    let (broken, shown, value) = match n.as_i64().filter(|_| native) {
        Some(n) => {
            let bound = bound as i64;
            let broken = if upper { n > bound } else { n < bound };
            let broken = broken || (exclusive && n == bound);
            (broken, bound.to_string(), Value::from(n))
        }
        None => {
            let n = n.as_f64().unwrap_or_default();
            let broken = if upper { n > bound } else { n < bound };
            let broken = broken || (exclusive && n == bound);
            (broken, go::float(bound), Value::from(n))
        }
    };
    if broken {
        let words = words[usize::from(exclusive)];
        all.add(position, Fault::Invalid(value), |name| {
            format!("{name} in body should be {words} {shown}")
        });
    }
}

fn validate_factor(
    n: &Number,
    factor: f64,
    native: bool,
    position: &Position<'_>,
    all: &mut Findings,
) {
    let integer = n.as_i64().filter(|_| native);
    let (positive, multiple, shown) = match integer {
        Some(n) => {
            let factor = factor as i64;
            (
                factor > 0,
                factor > 0 && n % factor == 0,
                factor.to_string(),
            )
        }
        None => {
            let n = n.as_f64().unwrap_or_default();
            let times = if factor < 1.0 {
                1.0 / factor * n
            } else {
                n / factor
            };
            (factor > 0.0, is_whole(times), go::float(factor))
        }
    };
    if !positive {
        let value = integer.map_or_else(|| factor.into(), |_| Value::from(factor as i64));
        all.add(position, Fault::Invalid(value), |name| {
            format!("factor MultipleOf declared for {name} must be positive: {shown}")
        });
    } else if !multiple {
        all.add(position, Fault::Invalid(Value::Number(n.clone())), |name| {
            format!("{name} in body should be a multiple of {shown}")
        });
    }
}

//! Floats, as `strconv.FormatFloat` and `encoding/json` print them.

use std::{fmt::Write, ops::Range};

use serde_json::Number;

/// The sizes that `%v` prints without an exponent.
const PLAIN: Range<f64> = 1e-4..1e6;
/// The sizes that JSON prints without an exponent.
const PLAIN_IN_JSON: Range<f64> = 1e-6..1e21;

/// Prints a float as Go's `%v` does: `1` for 1.0, `1e-05`, `2.5e+06`, `+Inf`.
///
/// ```
/// use kubewright_machinery::go::float;
///
/// assert_eq!([float(1.0), float(2_500_000.0)], ["1", "2.5e+06"]);
/// ```
pub fn float(value: f64) -> String {
    let mut out = String::new();
    write_float(&mut out, value);
    out
}

/// Appends a float as [`float`] prints it.
///
/// ```
/// use kubewright_machinery::go::write_float;
///
/// let mut text = "limit: ".to_owned();
/// write_float(&mut text, 0.5);
/// assert_eq!(text, "limit: 0.5");
/// ```
pub fn write_float(out: &mut String, value: f64) {
    if write_unless_finite(out, value) {
        write_shortest(out, value, PLAIN, 2);
    }
}

/// Prints a float with as many decimal places as it takes to read it back, and never with an exponent.
///
/// ```
/// use kubewright_machinery::go::float_without_exponent;
///
/// assert_eq!(float_without_exponent(2_500_000.0), "2500000");
/// ```
pub fn float_without_exponent(value: f64) -> String {
    let mut out = String::new();
    if write_unless_finite(&mut out, value) {
        write_plain(&mut out, value);
    }
    out
}

/// Appends a finite float as `encoding/json` prints it: without an exponent between 1e-6 and 1e21.
///
/// ```
/// use kubewright_machinery::go::write_json_float;
///
/// let mut json = String::new();
/// write_json_float(&mut json, 1e-7);
/// assert_eq!(json, "1e-7");
/// ```
pub fn write_json_float(out: &mut String, value: f64) {
    write_shortest(out, value, PLAIN_IN_JSON, 1);
}

/// Appends a finite float as json-iterator prints it, whose exponents have two digits at least.
pub(super) fn write_iterator_float(out: &mut String, value: f64) {
    write_shortest(out, value, PLAIN_IN_JSON, 2);
}

/// Appends the name of a value that is not finite; returns `true`, and appends nothing, if it is finite.
fn write_unless_finite(out: &mut String, value: f64) -> bool {
    let name = match value {
        value if value.is_nan() => "NaN",
        f64::INFINITY => "+Inf",
        f64::NEG_INFINITY => "-Inf",
        _ => return true,
    };
    out.push_str(name);
    false
}

/// Appends the shortest digits that read back; outside of `plain`, with an exponent of at least `width` digits.
fn write_shortest(out: &mut String, value: f64, plain: Range<f64>, width: usize) {
    let size = value.abs();
    if size == 0.0 || plain.contains(&size) {
        return write_plain(out, value);
    }
    let (digits, exponent) = shortest(size);
    let (first, rest) = digits.split_at(1);
    let sign = if value < 0.0 { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    let exponent = exponent.unsigned_abs();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "{sign}{first}{point}{rest}e{exponent_sign}{exponent:0>width$}"
    );
}

/// Appends the shortest digits that read back, without an exponent.
fn write_plain(out: &mut String, value: f64) {
    let (digits, exponent) = shortest(value.abs());
    if value.is_sign_negative() {
        out.push('-');
    }
    let zeros = |n: usize| std::iter::repeat_n('0', n);
    match usize::try_from(exponent) {
        Err(_) => {
            out.push_str("0.");
            out.extend(zeros(exponent.unsigned_abs() as usize - 1));
            out.push_str(&digits);
        }
        Ok(exponent) if exponent + 1 >= digits.len() => {
            out.push_str(&digits);
            out.extend(zeros(exponent + 1 - digits.len()));
        }
        Ok(exponent) => {
            let (whole, fraction) = digits.split_at(exponent + 1);
            let _ = write!(out, "{whole}.{fraction}");
        }
    }
}

/// Returns the shortest digits of a number that is not negative, and the power of ten of the first one.
///
/// If two texts of that length are equally near, Go takes the one with the even digit. So does serde_json, and the
/// standard library does not.
fn shortest(value: f64) -> (String, i32) {
    let text = Number::from_f64(value).map_or_else(String::new, |n| n.to_string());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    if digits.is_empty() {
        return ("0".to_owned(), 0);
    }
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // Numbers have few digits, so the lengths fit.
    let point = whole.len() as i32 - (all.len() - digits.len()) as i32;
    (
        digits.trim_end_matches('0').to_owned(),
        exponent + point - 1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_differently_alone_and_in_json() {
        for (value, alone, json, iterator) in [
            (1.0, "1", "1", "1"),
            (-0.0, "-0", "-0", "-0"),
            (-0.5, "-0.5", "-0.5", "-0.5"),
            (999999.5, "999999.5", "999999.5", "999999.5"),
            (2147483648.0, "2.147483648e+09", "2147483648", "2147483648"),
            (
                1e20,
                "1e+20",
                "100000000000000000000",
                "100000000000000000000",
            ),
            (1e21, "1e+21", "1e+21", "1e+21"),
            (1.5e-5, "1.5e-05", "0.000015", "0.000015"),
            (1.5e-7, "1.5e-07", "1.5e-7", "1.5e-07"),
            (1e-10, "1e-10", "1e-10", "1e-10"),
            (0.0001, "0.0001", "0.0001", "0.0001"),
            (1e300, "1e+300", "1e+300", "1e+300"),
            (
                27134673328941.062,
                "2.7134673328941062e+13",
                "27134673328941.062",
                "27134673328941.062",
            ),
        ] {
            let print = |write: fn(&mut String, f64)| {
                let mut out = String::new();
                write(&mut out, value);
                out
            };
            assert_eq!(print(write_float), alone);
            assert_eq!(print(write_json_float), json);
            assert_eq!(print(write_iterator_float), iterator);
        }
    }

    #[test]
    fn values_that_are_not_finite_have_names() {
        for (value, name) in [
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(float(value), name);
            assert_eq!(float_without_exponent(value), name);
        }
        assert_eq!(float_without_exponent(1.5e-7), "0.00000015");
        assert_eq!(float_without_exponent(1e21), "1000000000000000000000");
    }
}

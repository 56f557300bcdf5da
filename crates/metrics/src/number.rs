//! Numbers as Prometheus' Go library writes them.

use std::fmt::Write as _;

/// Appends a number: the shortest form that reads back, with an exponent below 1e-4 and from 1e21 on.
pub(crate) fn write(text: &mut String, value: f64) {
    let size = value.abs();
    // Writing to a string cannot fail.
    let _ = if value.is_nan() {
        write!(text, "NaN")
    } else if value.is_infinite() {
        write!(text, "{}Inf", if value > 0.0 { '+' } else { '-' })
    } else if size != 0.0 && !(1e-4..1e21).contains(&size) {
        write_with_exponent(text, value)
    } else {
        write!(text, "{value}")
    };
}

/// Go writes at least two digits of the exponent, and its sign: `1e-08`, `1e+21`.
fn write_with_exponent(text: &mut String, value: f64) -> std::fmt::Result {
    let shortest = format!("{value:e}");
    let Some((digits, exponent)) = shortest.split_once('e') else {
        return write!(text, "{value}");
    };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    write!(text, "{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_look_as_go_writes_them() {
        for (value, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.02, "0.02"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.000_000_012_5, "1.25e-08"),
            (-3.5, "-3.5"),
            (1_048_576.0, "1048576"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (-1e-100, "-1e-100"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            let mut text = String::new();
            super::write(&mut text, value);
            assert_eq!(text, expected);
        }
    }
}

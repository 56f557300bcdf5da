//! Floats as `encoding/json` prints them.

use std::fmt::Write;

/// Appends the shortest text that reads back as the same float: without exponent between 1e-6 and 1e21, and without
/// a fraction where there is none.
pub(crate) fn push_float(out: &mut String, float: f64) {
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                // Go writes at least two digits and a sign, and json then trims `e-09` (only that) to `e-9`.
                let _ = write!(out, "{digits}e+{exponent:0>2}");
            }
            _ => out.push_str(&text),
        }
    } else {
        let _ = write!(out, "{float}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_go() {
        for (float, text) in [
            (1.0, "1"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.25e-7, "1.25e-7"),
            (1e-10, "1e-10"),
            (0.000001, "0.000001"),
        ] {
            let mut out = String::new();
            push_float(&mut out, float);
            assert_eq!(out, text);
        }
    }
}

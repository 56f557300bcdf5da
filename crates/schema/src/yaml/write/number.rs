//! Numbers, as Go prints them after reading the JSON as YAML.

use kubewright_machinery::go;
use serde_json::Number;

/// Prints a number: 64-bit integers in full, other numbers as `%v` does.
pub(super) fn text(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    if float == 0.0 {
        return "0".to_owned();
    }
    // A float without a fraction is written to JSON as an integer, so YAML reads an integer too if it fits.
    let plain = go::float_without_exponent(float);
    if plain.parse::<i64>().is_ok() || plain.parse::<u64>().is_ok() {
        return plain;
    }
    go::float(float)
}

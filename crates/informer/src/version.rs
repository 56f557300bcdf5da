//! Comparing resource versions.

use std::cmp::Ordering;

/// Which of two resource versions is newer. `None` if one of them is no positive decimal number; versions compare only
/// within one resource.
pub fn compare(a: &str, b: &str) -> Option<Ordering> {
    (is_number(a) && is_number(b)).then(|| a.len().cmp(&b.len()).then_with(|| a.cmp(b)))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_length_and_then_by_digits() {
        assert_eq!(compare("9", "10"), Some(Ordering::Less));
        assert_eq!(compare("21", "20"), Some(Ordering::Greater));
        let long = "9".repeat(60);
        assert_eq!(compare(&long, &long), Some(Ordering::Equal));
        for bad in ["", "0", "01", "1a", "-1"] {
            assert_eq!(compare(bad, "1"), None, "{bad:?}");
            assert_eq!(compare("1", bad), None, "{bad:?}");
        }
    }
}

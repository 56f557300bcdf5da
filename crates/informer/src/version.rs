//! Comparing resource versions.

use std::cmp::Ordering;

/// Compares two resource versions of one resource; `None` if one of them is not a positive decimal number.
///
/// ```
/// use std::cmp::Ordering;
/// use kubewright_informer::compare_resource_versions;
///
/// assert_eq!(compare_resource_versions("9", "10"), Some(Ordering::Less));
/// assert_eq!(compare_resource_versions("0", "10"), None);
/// ```
pub fn compare_resource_versions(a: &str, b: &str) -> Option<Ordering> {
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
        assert_eq!(compare_resource_versions("9", "10"), Some(Ordering::Less));
        assert_eq!(
            compare_resource_versions("21", "20"),
            Some(Ordering::Greater)
        );
        let long = "9".repeat(60);
        assert_eq!(
            compare_resource_versions(&long, &long),
            Some(Ordering::Equal)
        );
        for bad in ["", "0", "01", "1a", "-1"] {
            assert_eq!(compare_resource_versions(bad, "1"), None, "{bad:?}");
            assert_eq!(compare_resource_versions("1", bad), None, "{bad:?}");
        }
    }
}

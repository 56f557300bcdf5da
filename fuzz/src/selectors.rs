//! Label selectors, field selectors, and the small texts of objects.

use kubewright_machinery::{fields::FieldSelector, labels::LabelSelector};

use crate::parts;

/// Checks that a selector that is printed is read as the same selector.
pub(crate) fn selectors(data: &[u8]) {
    if let Some(selector) = parts::json(data) {
        let _ = LabelSelector::from_label_selector(&selector);
        let _ = LabelSelector::format_label_selector(&selector);
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(selector) = LabelSelector::parse(text) {
        let printed = selector.to_string();
        let again = LabelSelector::parse(&printed).expect("a printed selector is a selector");
        assert_eq!(again, selector, "{printed}");
        let _ = selector.matches(|_| Some("a"));
        let _ = selector.matches(|_| None);
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        let printed = selector.to_string();
        let again = FieldSelector::parse(&printed).expect("a printed selector is a selector");
        // Terms are sorted as they are written, and `==` is printed as `=`.
        assert_eq!(sorted(&again), sorted(&selector), "{printed}");
        let _ = selector.matches(|field| Some(field.to_owned().into()));
    }
}

fn sorted(selector: &FieldSelector) -> Vec<String> {
    let terms = selector.terms().iter();
    let mut terms: Vec<String> = terms.map(ToString::to_string).collect();
    terms.sort();
    terms
}

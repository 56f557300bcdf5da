//! Several errors as one text.

use std::collections::HashSet;

/// Joins the texts of errors as Go's `errors.NewAggregate` does: a single one plain, several in brackets, equal ones once.
///
/// ```
/// use kubewright_machinery::go;
///
/// assert_eq!(go::aggregate(["no key"]), "no key");
/// assert_eq!(go::aggregate(["no key", "too late", "no key"]), "[no key, too late]");
/// ```
pub fn aggregate<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let mut seen = HashSet::new();
    let mut distinct = Vec::new();
    for text in texts {
        let text = text.as_ref();
        if seen.insert(text.to_owned()) {
            distinct.push(text.to_owned());
        }
    }
    match distinct.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

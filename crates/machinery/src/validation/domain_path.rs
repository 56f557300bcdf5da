//! Paths that begin with a domain: `acme.io/foo`.

use super::names;
use crate::field::{self, ErrorList, Path};

/// Validates a path that begins with a domain, such as `acme.io/foo`.
///
/// ```
/// use kubewright_machinery::{field::Path, validation::validate_domain_prefixed_path};
///
/// let path = Path::new("spec").child("controller");
/// assert!(validate_domain_prefixed_path("acme.io/foo", &path).is_empty());
/// let errors = validate_domain_prefixed_path("acme.io/", &path);
/// assert_eq!(errors[0].detail, r#"must be a domain-prefixed path (such as "acme.io/foo")"#);
/// ```
pub fn validate_domain_prefixed_path(text: &str, path: &Path) -> ErrorList {
    if text.is_empty() {
        return vec![field::required(path, "")];
    }
    let parts = text.split_once('/');
    let Some((domain, rest)) = parts.filter(|(a, b)| !a.is_empty() && !b.is_empty()) else {
        let message = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![field::invalid_str(path, text, message)];
    };
    let invalid = |text: &str, found: Vec<String>| {
        let errors = found.into_iter().map(|m| field::invalid_str(path, text, m));
        errors.collect::<ErrorList>()
    };
    let mut errors = invalid(domain, names::is_dns1123_subdomain(domain));
    errors.extend(invalid(rest, names::is_http_path(rest)));
    errors
}

//! Formats of single strings: DNS labels, label keys and values, config keys, ports, and the names of objects.
//!
//! Every check returns the reasons why a string does not fit, as sentences that end up in field errors; an empty list
//! means that it is valid. This module does not know fields or objects.
//!
//! Two checks exist in two wordings, as in Kubernetes: object names count `characters`, label keys and everything that
//! is declared with format tags count `bytes`. Both count bytes.

pub use super::ip::{is_ip, is_ip_legacy};

use super::NameForm;

/// The longest DNS label.
pub const DNS_LABEL_MAX: usize = 63;
/// The longest DNS subdomain, and with it the longest name of most objects.
pub const DNS_SUBDOMAIN_MAX: usize = 253;
/// The longest value of a label.
pub const LABEL_VALUE_MAX: usize = 63;

const LABEL_FMT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN_FMT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const KEY_FMT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// A DNS label (RFC 1123): `my-name`.
pub fn is_dns1123_label(value: &str) -> Vec<String> {
    dns1123_label(value, max_characters)
}

/// Checks like [`is_dns1123_label`], with messages that count bytes, as those of formats in schemas do.
pub fn is_dns1123_label_bytes(value: &str) -> Vec<String> {
    dns1123_label(value, max_bytes)
}

/// A DNS subdomain (RFC 1123): `example.com`.
pub fn is_dns1123_subdomain(value: &str) -> Vec<String> {
    dns1123_subdomain(value, max_characters)
}

/// Checks like [`is_dns1123_subdomain`], with messages that count bytes, as those of formats in schemas do.
pub fn is_dns1123_subdomain_bytes(value: &str) -> Vec<String> {
    dns1123_subdomain(value, max_bytes)
}

/// A DNS subdomain whose labels may hold underscores, and start with one.
pub fn is_dns1123_subdomain_with_underscore(value: &str) -> Vec<String> {
    const FMT: &str = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
    let fits = value.split('.').all(|label| {
        let label = label.strip_prefix('_').unwrap_or(label);
        framed(label, is_lower_alnum, |b| {
            is_lower_alnum(b) || b == b'-' || b == b'_'
        })
    });
    let mut out = Vec::new();
    if value.len() > DNS_SUBDOMAIN_MAX {
        out.push(max_characters(DNS_SUBDOMAIN_MAX));
    }
    if !fits {
        out.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            FMT,
            &["example.com"],
        ));
    }
    out
}

/// A subdomain behind `*.`: `*.example.com`.
pub fn is_wildcard_dns1123_subdomain(value: &str) -> Vec<String> {
    let mut out = Vec::new();
    if value.len() > DNS_SUBDOMAIN_MAX {
        out.push(max_characters(DNS_SUBDOMAIN_MAX));
    }
    if !value.strip_prefix("*.").is_some_and(fits_subdomain) {
        out.push(regex_error(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!("\\*\\.{SUBDOMAIN_FMT}"),
            &["*.example.com"],
        ));
    }
    out
}

/// A DNS label that starts with a letter (RFC 1035), as names of services are.
pub fn is_dns1035_label(value: &str) -> Vec<String> {
    let mut out = Vec::new();
    if value.len() > DNS_LABEL_MAX {
        out.push(max_characters(DNS_LABEL_MAX));
    }
    let starts = value.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    if !starts || !fits_label(value) {
        out.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    out
}

/// The key of a label, an annotation or a finalizer: `name` or `example.com/name`.
pub fn is_qualified_name(value: &str) -> Vec<String> {
    let rule = || regex_error(KEY_RULE, KEY_FMT, &["MyName", "my.name", "123-abc"]);
    let mut out = Vec::new();
    let name = match value.split_once('/') {
        None => value,
        Some((_, rest)) if rest.contains('/') => {
            out.push(format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                rule()
            ));
            return out;
        }
        Some(("", name)) => {
            out.push("prefix part must be non-empty".into());
            name
        }
        Some((prefix, name)) => {
            out.extend(
                is_dns1123_subdomain_bytes(prefix)
                    .into_iter()
                    .map(|m| format!("prefix part {m}")),
            );
            name
        }
    };
    if name.is_empty() {
        out.push("name part must be non-empty".into());
    } else if name.len() > DNS_LABEL_MAX {
        out.push(format!("name part {}", max_bytes(DNS_LABEL_MAX)));
    }
    if !fits_key(name) {
        out.push(format!("name part {}", rule()));
    }
    out
}

/// The value of a label: empty, or like the name part of its key.
pub fn is_label_value(value: &str) -> Vec<String> {
    let mut out = Vec::new();
    if value.len() > LABEL_VALUE_MAX {
        out.push(max_bytes(LABEL_VALUE_MAX));
    }
    if !value.is_empty() && !fits_key(value) {
        out.push(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            &format!("({KEY_FMT})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    out
}

/// A segment of a URL path, the least that every object's name must be.
pub fn is_path_segment_name(value: &str) -> Vec<String> {
    match value {
        "." => vec!["may not be '.'".into()],
        ".." => vec!["may not be '..'".into()],
        _ => is_path_segment_prefix(value),
    }
}

/// The start of a URL path segment.
pub fn is_path_segment_prefix(value: &str) -> Vec<String> {
    ["/", "%"]
        .into_iter()
        .filter(|bad| value.contains(bad))
        .map(|bad| format!("may not contain '{bad}'"))
        .collect()
}

/// A key of a config map or secret: `key.name`.
pub fn is_config_map_key(value: &str) -> Vec<String> {
    let mut out = Vec::new();
    if value.len() > DNS_SUBDOMAIN_MAX {
        out.push(max_characters(DNS_SUBDOMAIN_MAX));
    }
    if value.is_empty() || !value.bytes().all(is_key_byte) {
        out.push(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    out.extend(parent_directory(value));
    out
}

/// The name of an environment variable: printable ASCII without `=`.
pub fn is_relaxed_env_var_name(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec!["environment variable name must be non-empty".into()];
    }
    if value
        .bytes()
        .any(|b| !(b' '..=b'~').contains(&b) || b == b'=')
    {
        return vec![
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
                .into(),
        ];
    }
    Vec::new()
}

/// The name of an HTTP header.
pub fn is_http_header_name(value: &str) -> Vec<String> {
    if !value.is_empty()
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    {
        return Vec::new();
    }
    vec![regex_error(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// The characters of an HTTP path, without its leading slash.
pub fn is_http_path(value: &str) -> Vec<String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !value.is_empty() && value.bytes().all(allowed) {
        return Vec::new();
    }
    vec![regex_error(
        "Invalid path",
        r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+",
        &[],
    )]
}

/// A percentage: `25%`.
pub fn is_percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    vec![regex_error(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// A port number.
pub fn is_port_number(port: i64) -> Vec<String> {
    is_in_range(port, 1, 65535)
}

/// The name of a port: at most 15 of `a-z0-9-`, with a letter.
pub fn is_port_name(port: &str) -> Vec<String> {
    let mut out = Vec::new();
    if port.len() > 15 {
        out.push(max_characters(15));
    }
    if port.is_empty() || !port.bytes().all(|b| is_lower_alnum(b) || b == b'-') {
        out.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !port.bytes().any(|b| b.is_ascii_lowercase()) {
        out.push("must contain at least one letter (a-z)".into());
    }
    if port.contains("--") {
        out.push("must not contain consecutive hyphens".into());
    }
    if port.starts_with('-') || port.ends_with('-') {
        out.push("must not begin or end with a hyphen".into());
    }
    out
}

/// A number within bounds, both included.
pub fn is_in_range(value: i64, low: i64, high: i64) -> Vec<String> {
    if (low..=high).contains(&value) {
        return Vec::new();
    }
    vec![format!("must be between {low} and {high}, inclusive")]
}

/// The name of an object that must be a DNS subdomain.
pub fn name_is_dns_subdomain(name: &str, form: NameForm) -> Vec<String> {
    is_dns1123_subdomain(&masked(name, form))
}

/// The name of an object that must be a DNS label.
pub fn name_is_dns_label(name: &str, form: NameForm) -> Vec<String> {
    is_dns1123_label(&masked(name, form))
}

/// The name of an object that must be a DNS label starting with a letter.
pub fn name_is_dns1035_label(name: &str, form: NameForm) -> Vec<String> {
    is_dns1035_label(&masked(name, form))
}

/// The name of an object that only has to fit into a URL path.
pub fn name_is_path_segment(name: &str, form: NameForm) -> Vec<String> {
    if form == NameForm::Prefix {
        is_path_segment_prefix(name)
    } else {
        is_path_segment_name(name)
    }
}

/// A rule, with examples and its regular expression.
pub fn regex_error(rule: &str, regex: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{rule} (regex used for validation is '{regex}')");
    }
    let examples: Vec<String> = examples.iter().map(|e| format!("'{e}', ")).collect();
    format!(
        "{rule} (e.g. {}regex used for validation is '{regex}')",
        examples.join(" or ")
    )
}

fn max_characters(n: usize) -> String {
    format!("must be no more than {n} characters")
}

fn max_bytes(n: usize) -> String {
    format!("must be no more than {n} bytes")
}

fn dns1123_label(value: &str, too_long: fn(usize) -> String) -> Vec<String> {
    let mut out = Vec::new();
    if value.len() > DNS_LABEL_MAX {
        out.push(too_long(DNS_LABEL_MAX));
    }
    if !fits_label(value) {
        out.push(if fits_subdomain(value) {
            "must not contain dots".into()
        } else {
            regex_error(LABEL_RULE, LABEL_FMT, &["my-name", "123-abc"])
        });
    }
    out
}

fn dns1123_subdomain(value: &str, too_long: fn(usize) -> String) -> Vec<String> {
    let mut out = Vec::new();
    if value.len() > DNS_SUBDOMAIN_MAX {
        out.push(too_long(DNS_SUBDOMAIN_MAX));
    }
    if !fits_subdomain(value) {
        out.push(regex_error(SUBDOMAIN_RULE, SUBDOMAIN_FMT, &["example.com"]));
    }
    out
}

fn is_lower_alnum(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

fn is_key_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')
}

/// Reports whether a text is not empty, has its ends in one set of bytes and the rest in another.
fn framed(value: &str, ends: fn(u8) -> bool, inner: fn(u8) -> bool) -> bool {
    let bytes = value.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(&first), Some(&last)) => ends(first) && ends(last) && bytes.iter().all(|&b| inner(b)),
        _ => false,
    }
}

fn fits_label(value: &str) -> bool {
    framed(value, is_lower_alnum, |b| is_lower_alnum(b) || b == b'-')
}

fn fits_subdomain(value: &str) -> bool {
    value.split('.').all(fits_label)
}

fn fits_key(value: &str) -> bool {
    framed(value, |b| b.is_ascii_alphanumeric(), is_key_byte)
}

fn parent_directory(value: &str) -> Option<String> {
    match value {
        "." => Some("must not be '.'".into()),
        ".." => Some("must not be '..'".into()),
        v if v.starts_with("..") => Some("must not start with '..'".into()),
        _ => None,
    }
}

/// A generated name continues after its base, so a dash at the end of the base is allowed. As in Kubernetes, the last
/// two
/// bytes make room for one that surely fits.
fn masked(name: &str, form: NameForm) -> std::borrow::Cow<'_, str> {
    if form == NameForm::Prefix && name.len() > 1 && name.ends_with('-') {
        let kept = &name.as_bytes()[..name.len() - 2];
        format!("{}a", String::from_utf8_lossy(kept)).into()
    } else {
        name.into()
    }
}

//! The string formats that are enforced, and the strings they accept.

mod address;
mod duration;
mod email;
mod number;
mod uri;

use kubewright_machinery::time::{is_date, is_date_time};
use std::sync::LazyLock;

use regex::Regex;

use super::model::Kind;

/// A format that is enforced, under the name it was given.
///
/// ```
/// use kubewright_schema::structural::Structural;
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "string", "format": "ipv4"}))?;
/// let checks = schema.checks.as_deref().expect("there is a format");
/// let format = checks.format.as_ref().expect("the format is enforced");
/// assert_eq!(format.name(), "ipv4");
/// assert!(format.accepts("10.0.0.1"));
/// assert!(!format.accepts("10.0.0"));
/// # Ok::<(), kubewright_schema::structural::CompileError>(())
/// ```
#[derive(Clone)]
pub struct Format {
    name: Box<str>,
    /// The formats of strings; those of numbers are checked by range.
    accepts: Option<fn(&str) -> bool>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Format").field(&self.name).finish()
    }
}

/// Reports whether the server knows the format of that type. Others are accepted with a warning and ignored.
///
/// ```
/// use kubewright_schema::structural::is_recognized_format;
///
/// assert!(is_recognized_format("date-time", "string"));
/// assert!(!is_recognized_format("color", "string"));
/// ```
pub fn is_recognized_format(format: &str, kind: &str) -> bool {
    match kind {
        "" | "string" => find(format).is_some(),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

impl Format {
    /// The format, if it is enforced for that type.
    pub(super) fn enforced(name: &str, kind: Kind) -> Option<Self> {
        if name.is_empty() || !is_recognized_format(name, kind.name()) {
            return None;
        }
        let accepts = match kind {
            Kind::Any | Kind::String => find(name),
            _ => None,
        };
        Some(Self {
            name: name.into(),
            accepts,
        })
    }

    /// As it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reports whether a string is of this format.
    pub fn accepts(&self, text: &str) -> bool {
        self.accepts.is_none_or(|accepts| accepts(text))
    }
}

/// The check of a format by name; dashes in names do not count.
fn find(name: &str) -> Option<fn(&str) -> bool> {
    Some(match name.replace('-', "").as_str() {
        "bsonobjectid" => |s| s.len() == 24 && s.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => uri::is_request_uri,
        "email" => email::is_email,
        "hostname" => is_hostname,
        "ipv4" => address::is_ipv4,
        "ipv6" => address::is_ipv6,
        "cidr" => address::is_cidr,
        "mac" => address::is_mac,
        "uuid" => |s| matches(&UUID, s),
        "uuid3" => |s| matches(&UUID3, s),
        "uuid4" => |s| matches(&UUID4, s),
        "uuid5" => |s| matches(&UUID5, s),
        "isbn" => |s| number::is_isbn10(s) || number::is_isbn13(s),
        "isbn10" => number::is_isbn10,
        "isbn13" => number::is_isbn13,
        "creditcard" => number::is_credit_card,
        "ssn" => |s| s.len() == 11 && matches(&SSN, s),
        "hexcolor" => is_hex_color,
        "rgbcolor" => |s| matches(&RGB, s),
        "byte" => is_base64,
        "password" => |_| true,
        "date" => is_date,
        "datetime" => is_date_time,
        "duration" => duration::is_duration,
        "k8sshortname" => |s| s.len() <= 63 && is_label(s),
        "k8slongname" => |s| s.len() <= 253 && s.split('.').all(is_label),
        _ => return None,
    })
}

type Lazy = LazyLock<Option<Regex>>;

fn matches(regex: &Lazy, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: Lazy = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(
    HOSTNAME,
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
);
pattern!(
    UUID,
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
);
pattern!(
    UUID3,
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
);
pattern!(
    UUID4,
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"
);
pattern!(
    UUID5,
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"
);
pattern!(SSN, "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$");
pattern!(
    RGB,
    r"^rgb\([\t\n\x0C\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\x0C\r ]*,[\t\n\x0C\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\x0C\r ]*,[\t\n\x0C\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\x0C\r ]*\)$"
);

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && matches(&HOSTNAME, text)
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let plain = body
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'));
    !text.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && plain
}

fn is_label(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends =
        bytes.first().copied().is_some_and(inside) && bytes.last().copied().is_some_and(inside);
    ends && bytes.iter().all(|b| inside(*b) || *b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(format: &str, text: &str) -> bool {
        find(format).unwrap()(text)
    }

    #[test]
    fn every_format_accepts_and_rejects() {
        for (format, right, wrong) in [
            ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
            ("uri", "https://x.example.com/a", "no uri"),
            ("email", "Barry <a@example.com>", "a@"),
            ("hostname", "x.example.com", "-x"),
            ("ipv4", "10.0.0.01", "10.0.0"),
            ("ipv6", "::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.1/33"),
            ("mac", "01:02:03:04:05:06", "01:02"),
            ("uuid", "0A0a0a0a-1b1b-4c4c-8d8d-0e0e0e0e0e0e", "x"),
            (
                "uuid4",
                "0a0a0a0a-1b1b-4c4c-8d8d-0e0e0e0e0e0e",
                "0a0a0a0a-1b1b-3c4c-8d8d-0e0e0e0e0e0e",
            ),
            ("isbn", "978-0321751041", "978-0321751042"),
            ("isbn10", "0321751043", "0321751044"),
            ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
            ("ssn", "111-11-1111", "111-11-111"),
            ("hexcolor", "#fff", "#ffff"),
            ("rgbcolor", "rgb(1, 2,255)", "rgb(1,2,256)"),
            ("byte", "aGk=", "aGk"),
            ("date", "2024-02-29", "2023-02-29"),
            (
                "date-time",
                "2024-02-29T10:00:00.5+01:00",
                "2024-02-29 10:00:00Z",
            ),
            ("duration", "5 days", "!! no"),
            ("k8s-short-name", "a-b", "a.b"),
            ("k8s-long-name", "a.b", "a..b"),
        ] {
            assert!(accepts(format, right), "{format} {right}");
            assert!(!accepts(format, wrong), "{format} {wrong}");
        }
        assert!(find("phone").is_none());
    }

    #[test]
    fn formats_belong_to_types() {
        assert!(is_recognized_format("int32", "integer"));
        assert!(!is_recognized_format("int32", "string"));
        assert!(!is_recognized_format("date", "object"));
        assert!(Format::enforced("double", Kind::Number).is_some());
        assert!(Format::enforced("date", Kind::Number).is_none());
    }
}

//! Named formats: `format.dns1123Label().validate("name")`.

use base64::Engine as _;
use base64::engine::general_purpose;
use kubewright_machinery::validation::names;

use crate::value::{EvalResult, Value, time};

use super::{Implementation, Registry, no_such_overload, url};

/// A format that text can be checked against.
#[derive(Debug)]
pub struct NamedFormat {
    pub(crate) name: &'static str,
    /// What is wrong with a text.
    validate: fn(&str) -> Vec<String>,
    /// How long a pattern for it would be, for the cost.
    pub(crate) regex_size: u64,
}

/// The formats by the names of their functions.
static FORMATS: [(&str, NamedFormat); 13] = [
    (
        "dns1123Label",
        NamedFormat {
            name: "DNS1123Label",
            validate: |s| names::name_is_dns_label(s, false),
            regex_size: 30,
        },
    ),
    (
        "dns1123Subdomain",
        NamedFormat {
            name: "DNS1123Subdomain",
            validate: |s| names::name_is_dns_subdomain(s, false),
            regex_size: 60,
        },
    ),
    (
        "dns1035Label",
        NamedFormat {
            name: "DNS1035Label",
            validate: |s| names::name_is_dns1035_label(s, false),
            regex_size: 30,
        },
    ),
    (
        "qualifiedName",
        NamedFormat {
            name: "QualifiedName",
            validate: names::is_qualified_name,
            regex_size: 60,
        },
    ),
    (
        "dns1123LabelPrefix",
        NamedFormat {
            name: "DNS1123LabelPrefix",
            validate: |s| names::name_is_dns_label(s, true),
            regex_size: 30,
        },
    ),
    (
        "dns1123SubdomainPrefix",
        NamedFormat {
            name: "DNS1123SubdomainPrefix",
            validate: |s| names::name_is_dns_subdomain(s, true),
            regex_size: 60,
        },
    ),
    (
        "dns1035LabelPrefix",
        NamedFormat {
            name: "DNS1035LabelPrefix",
            validate: |s| names::name_is_dns1035_label(s, true),
            regex_size: 30,
        },
    ),
    (
        "labelValue",
        NamedFormat {
            name: "LabelValue",
            validate: names::is_label_value,
            regex_size: 40,
        },
    ),
    (
        "uri",
        NamedFormat {
            name: "URI",
            validate: uri,
            regex_size: 1103,
        },
    ),
    (
        "uuid",
        NamedFormat {
            name: "uuid",
            validate: uuid,
            regex_size: 70,
        },
    ),
    (
        "byte",
        NamedFormat {
            name: "byte",
            validate: byte,
            regex_size: 84,
        },
    ),
    (
        "date",
        NamedFormat {
            name: "date",
            validate: date,
            regex_size: 71,
        },
    ),
    (
        "datetime",
        NamedFormat {
            name: "datetime",
            validate: datetime,
            regex_size: 71,
        },
    ),
];

pub(super) fn declare(r: &mut Registry) {
    r.member(
        "validate",
        "format-validate",
        "namedFormat string",
        "opt(list(string))",
        validate as Implementation,
    );
    r.global(
        "format.named",
        "format-named",
        "string",
        "opt(namedFormat)",
        named as Implementation,
    );
    let constants: [(&'static str, Implementation); 13] = [
        ("format.dns1123Label", |_| constant(0)),
        ("format.dns1123Subdomain", |_| constant(1)),
        ("format.dns1035Label", |_| constant(2)),
        ("format.qualifiedName", |_| constant(3)),
        ("format.dns1123LabelPrefix", |_| constant(4)),
        ("format.dns1123SubdomainPrefix", |_| constant(5)),
        ("format.dns1035LabelPrefix", |_| constant(6)),
        ("format.labelValue", |_| constant(7)),
        ("format.uri", |_| constant(8)),
        ("format.uuid", |_| constant(9)),
        ("format.byte", |_| constant(10)),
        ("format.date", |_| constant(11)),
        ("format.datetime", |_| constant(12)),
    ];
    for (name, implementation) in constants {
        r.global(name, name, "", "namedFormat", implementation);
    }
}

fn constant<'a>(at: usize) -> EvalResult<'a> {
    match FORMATS.get(at) {
        Some((_, format)) => Ok(Value::Format(format)),
        None => no_such_overload(),
    }
}

fn named<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(name)] = args else {
        return no_such_overload();
    };
    let format = FORMATS.iter().find(|(known, _)| known == &&**name);
    Ok(match format {
        Some((_, format)) => Value::some(Value::Format(format)),
        None => Value::none(),
    })
}

fn validate<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::Format(format), Value::String(text)] = args else {
        return no_such_overload();
    };
    let problems = (format.validate)(text);
    Ok(match problems.is_empty() {
        true => Value::none(),
        false => Value::some(Value::strings(problems)),
    })
}

fn unless(valid: bool, problem: &str) -> Vec<String> {
    match valid {
        true => Vec::new(),
        false => vec![problem.to_owned()],
    }
}

fn uri(text: &str) -> Vec<String> {
    url::check_request_uri(text).err().into_iter().collect()
}

fn uuid(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut valid = true;
    for (at, digits) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let group = rest.get(..digits).unwrap_or("");
        valid &= group.len() == digits && group.bytes().all(|b| b.is_ascii_hexdigit());
        rest = rest.get(digits..).unwrap_or("");
    }
    unless(valid && rest.is_empty(), "does not match the UUID format")
}

fn byte(text: &str) -> Vec<String> {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let valid = !text.is_empty() && general_purpose::STANDARD.decode(text).is_ok();
    unless(valid, "invalid base64")
}

fn date(text: &str) -> Vec<String> {
    unless(time::parse(text, time::DATE).is_ok(), "invalid date")
}

fn datetime(text: &str) -> Vec<String> {
    unless(is_datetime(text), "invalid datetime")
}

fn is_datetime(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let mut parts = text.split('t');
    let (Some(day), Some(clock)) = (parts.next(), parts.next()) else {
        return false;
    };
    if text.len() < 4 || time::parse(day, time::DATE).is_err() {
        return false;
    }
    let digits = |at: usize| {
        let pair = clock.get(at..at + 2)?;
        pair.bytes().all(|b| b.is_ascii_digit()).then_some(pair)
    };
    let (Some(hour), Some(minute), Some(second)) = (digits(0), digits(3), digits(6)) else {
        return false;
    };
    let colons = clock.get(2..3) == Some(":") && clock.get(5..6) == Some(":");
    if !colons || hour > "23" || minute > "59" || second > "59" {
        return false;
    }
    let rest = clock.get(8..).unwrap_or("");
    let zone = match rest.chars().next() {
        // Any character may stand before the fraction.
        Some(first) => {
            let after = &rest[first.len_utf8()..];
            let count = after.bytes().take_while(u8::is_ascii_digit).count();
            let skipped = &after[count..];
            match count > 0 && is_zone(skipped) {
                true => skipped,
                false => rest,
            }
        }
        None => rest,
    };
    is_zone(zone)
}

/// `z` or `+01:00`
fn is_zone(text: &str) -> bool {
    let bytes = text.as_bytes();
    text == "z"
        || bytes.len() == 6
            && matches!(bytes[0], b'+' | b'-')
            && bytes[3] == b':'
            && [1, 2, 4, 5].iter().all(|at| bytes[*at].is_ascii_digit())
}

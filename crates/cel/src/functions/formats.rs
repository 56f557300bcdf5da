//! Named formats: `format.dns1123Label().validate("name")`.

use base64::Engine as _;
use base64::engine::general_purpose;
use kubewright_machinery::{
    time::{is_date, is_date_time},
    validation::{NameForm, names},
};

use crate::value::{EvalResult, Value};

use super::{Implementation, Registry, no_such_overload, url};

/// A format that text can be checked against.
#[derive(Debug)]
pub struct NamedFormat {
    pub(crate) name: &'static str,
    /// The check, which returns errors.
    validate: fn(&str) -> Vec<String>,
    /// The length of an equivalent pattern, for the cost.
    pub(crate) regex_size: u64,
}

/// The formats by the names of their functions.
static FORMATS: [(&str, NamedFormat); 13] = [
    (
        "dns1123Label",
        NamedFormat {
            name: "DNS1123Label",
            validate: |s| names::name_is_dns_label(s, NameForm::Whole),
            regex_size: 30,
        },
    ),
    (
        "dns1123Subdomain",
        NamedFormat {
            name: "DNS1123Subdomain",
            validate: |s| names::name_is_dns_subdomain(s, NameForm::Whole),
            regex_size: 60,
        },
    ),
    (
        "dns1035Label",
        NamedFormat {
            name: "DNS1035Label",
            validate: |s| names::name_is_dns1035_label(s, NameForm::Whole),
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
            validate: |s| names::name_is_dns_label(s, NameForm::Prefix),
            regex_size: 30,
        },
    ),
    (
        "dns1123SubdomainPrefix",
        NamedFormat {
            name: "DNS1123SubdomainPrefix",
            validate: |s| names::name_is_dns_subdomain(s, NameForm::Prefix),
            regex_size: 60,
        },
    ),
    (
        "dns1035LabelPrefix",
        NamedFormat {
            name: "DNS1035LabelPrefix",
            validate: |s| names::name_is_dns1035_label(s, NameForm::Prefix),
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
    unless(is_date(text), "invalid date")
}

fn datetime(text: &str) -> Vec<String> {
    unless(is_date_time(text), "invalid datetime")
}

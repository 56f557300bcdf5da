//! Semantic versions: `semver("1.2.3").isLessThan(semver("1.3.0"))`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::value::{EvalError, EvalResult, Value};
use kubewright_machinery::go::quote;

use super::{Implementation, Registry, no_such_overload};

/// A semantic version.
///
/// ```
/// use kubewright_cel::{Activation, Env, Value};
///
/// let program = Env::new().compile("semver('v1.2', true)")?.program()?;
/// let activation = Activation::new();
/// let Ok(Value::Semver(version)) = program.evaluate(&activation).result else {
///     panic!("the result is a version");
/// };
/// assert_eq!(version.to_string(), "1.2.0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Semver {
    major: u64,
    minor: u64,
    patch: u64,
    pre: Vec<Identifier>,
    build: Vec<String>,
}

/// A part of a pre-release. Numbers come before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

pub(super) fn declare(r: &mut Registry) {
    r.global(
        "semver",
        "string_to_semver",
        "string",
        "semver",
        parse as Implementation,
    );
    r.global(
        "semver",
        "string_bool_to_semver",
        "string bool",
        "semver",
        parse as Implementation,
    );
    r.global(
        "isSemver",
        "is_semver_string",
        "string",
        "bool",
        is_semver as Implementation,
    );
    r.global(
        "isSemver",
        "is_semver_string_bool",
        "string bool",
        "bool",
        is_semver as Implementation,
    );
    let members: [(&'static str, &'static str, &str, &str, Implementation); 6] = [
        (
            "isGreaterThan",
            "semver_is_greater_than",
            "semver semver",
            "bool",
            |a| compare(a, |o| Value::Bool(o.is_gt())),
        ),
        (
            "isLessThan",
            "semver_is_less_than",
            "semver semver",
            "bool",
            |a| compare(a, |o| Value::Bool(o.is_lt())),
        ),
        (
            "compareTo",
            "semver_compare_to",
            "semver semver",
            "int",
            |a| compare(a, |o| Value::Int(o as i64)),
        ),
        ("major", "semver_major", "semver", "int", |a| {
            part(a, |v| v.major)
        }),
        ("minor", "semver_minor", "semver", "int", |a| {
            part(a, |v| v.minor)
        }),
        ("patch", "semver_patch", "semver", "int", |a| {
            part(a, |v| v.patch)
        }),
    ];
    for (name, id, params, result, implementation) in members {
        r.member(name, id, params, result, implementation);
    }
}

impl Semver {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts.as_slice() else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (*rest, None),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => (patch, Some(pre)),
            None => (rest, None),
        };
        Ok(Self {
            major: number(major, "major", "Major")?,
            minor: number(minor, "minor", "Minor")?,
            patch: number(patch, "patch", "Patch")?,
            pre: match pre {
                None => Vec::new(),
                Some(pre) => pre.split('.').map(identifier).collect::<Result<_, _>>()?,
            },
            build: match build {
                None => Vec::new(),
                Some(build) => build.split('.').map(build_word).collect::<Result<_, _>>()?,
            },
        })
    }

    /// Fills up `v1.2` to `1.2.0` and takes leading zeros off.
    fn parse_normalized(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
        for part in parts.iter_mut().filter(|part| part.len() > 1) {
            let trimmed = part.trim_start_matches('0');
            *part = match trimmed.bytes().next() {
                Some(b) if b.is_ascii_digit() => trimmed.to_owned(),
                _ => format!("0{trimmed}"),
            };
        }
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err("short version cannot contain PreRelease/Build meta data".into());
            }
            parts.resize(3, "0".into());
        }
        Self::parse(&parts.join("."))
    }

    /// Compares by precedence; build metadata does not count.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let numbers = |v: &Self| (v.major, v.minor, v.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.pre.cmp(&other.pre),
            }
        })
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (at, part) in self.pre.iter().enumerate() {
            f.write_str(if at == 0 { "-" } else { "." })?;
            match part {
                Identifier::Number(number) => write!(f, "{number}")?,
                Identifier::Word(word) => f.write_str(word)?,
            }
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build.join("."))?;
        }
        Ok(())
    }
}

fn digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn parse_uint(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        let why = if text.is_empty() {
            "invalid syntax"
        } else {
            "value out of range"
        };
        format!("strconv.ParseUint: parsing {}: {why}", quote(text))
    })
}

fn number(text: &str, name: &str, title: &str) -> Result<u64, String> {
    if !digits(text) {
        let text = quote(text);
        return Err(format!(
            "Invalid character(s) found in {name} number {text}"
        ));
    }
    if text.len() > 1 && text.starts_with('0') {
        let text = quote(text);
        return Err(format!(
            "{title} number must not contain leading zeroes {text}"
        ));
    }
    parse_uint(text)
}

fn word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn identifier(text: &str) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".into());
    }
    if digits(text) {
        if text.len() > 1 && text.starts_with('0') {
            let text = quote(text);
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {text}"
            ));
        }
        return parse_uint(text).map(Identifier::Number);
    }
    if !word(text) {
        let text = quote(text);
        return Err(format!("Invalid character(s) found in prerelease {text}"));
    }
    Ok(Identifier::Word(text.to_owned()))
}

fn build_word(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("Build meta data is empty".into());
    }
    if !word(text) {
        let text = quote(text);
        return Err(format!(
            "Invalid character(s) found in build meta data {text}"
        ));
    }
    Ok(text.to_owned())
}

fn read(args: &[Value<'_>]) -> Result<Result<Semver, String>, EvalError> {
    match args {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => {
            Ok(Semver::parse(text))
        }
        [Value::String(text), Value::Bool(true)] => Ok(Semver::parse_normalized(text)),
        _ => Err(EvalError::NO_SUCH_OVERLOAD),
    }
}

fn parse<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let version = read(args)?.map_err(EvalError::new)?;
    Ok(Value::Semver(Arc::new(version)))
}

fn is_semver<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    Ok(Value::Bool(read(args)?.is_ok()))
}

fn compare<'a>(args: &[Value<'a>], then: fn(Ordering) -> Value<'static>) -> EvalResult<'a> {
    match args {
        [Value::Semver(a), Value::Semver(b)] => Ok(then(a.compare(b))),
        _ => no_such_overload(),
    }
}

fn part<'a>(args: &[Value<'a>], part: fn(&Semver) -> u64) -> EvalResult<'a> {
    match args {
        [Value::Semver(version)] => Ok(Value::Int(part(version) as i64)),
        _ => no_such_overload(),
    }
}

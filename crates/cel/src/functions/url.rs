//! URLs: `url("https://example.com:80/a?b=c").getPort()`.
//!
//! Read and written as Go's `net/url` does, errors included.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::value::map::Entries;
use crate::value::{EvalError, EvalResult, Map, Value};
use kubewright_machinery::go::quote;

use super::{Implementation, Registry, no_such_overload};

/// A URL in its parts.
#[derive(Debug, Clone, Default)]
pub struct Url {
    scheme: String,
    opaque: String,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: String,
    path: Vec<u8>,
    /// The path as it was written, where that is not how it would be written again.
    raw_path: String,
    query: String,
    force_query: bool,
    fragment: Option<Vec<u8>>,
}

/// The part of a URL, which decides the characters that may be unescaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    User,
    Query,
    Fragment,
}

pub(super) fn declare(r: &mut Registry) {
    r.global(
        "url",
        "string_to_url",
        "string",
        "url",
        to_url as Implementation,
    );
    r.global(
        "isURL",
        "is_url_string",
        "string",
        "bool",
        is_url as Implementation,
    );
    let members: [(&'static str, &'static str, Implementation); 5] = [
        ("getScheme", "url_get_scheme", |a| {
            get(a, |u| u.scheme.clone())
        }),
        ("getHost", "url_get_host", |a| get(a, |u| u.host.clone())),
        ("getHostname", "url_get_hostname", |a| {
            get(a, |u| u.hostname().to_owned())
        }),
        ("getPort", "url_get_port", |a| {
            get(a, |u| u.port().to_owned())
        }),
        ("getEscapedPath", "url_get_escaped_path", |a| {
            get(a, Url::escaped_path)
        }),
    ];
    for (name, id, implementation) in members {
        r.member(name, id, "url", "string", implementation);
    }
    r.member(
        "getQuery",
        "url_get_query",
        "url",
        "map(string list(string))",
        get_query as Implementation,
    );
}

/// Reports whether a text is an absolute URI or an absolute path.
pub(crate) fn check_request_uri(text: &str) -> Result<(), String> {
    parse(text, true)
        .map(|_| ())
        .map_err(|why| wrap(text, &why))
}

fn wrap(text: &str, why: &str) -> String {
    format!("parse {}: {why}", quote(text))
}

fn parse(text: &str, request: bool) -> Result<Url, String> {
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    if text.is_empty() && request {
        return Err("empty url".into());
    }
    let mut url = Url::default();
    let text = match text.split_once('#') {
        Some((text, fragment)) if !request => {
            url.fragment = Some(unescape(fragment, Part::Fragment)?);
            text
        }
        _ => text,
    };
    if text == "*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, mut rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    if rest.ends_with('?') && rest.matches('?').count() == 1 {
        url.force_query = true;
        rest = &rest[..rest.len() - 1];
    } else if let Some((before, query)) = rest.split_once('?') {
        url.query = query.to_owned();
        rest = before;
    }
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_owned();
            return Ok(url);
        }
        if request {
            return Err("invalid URI for request".into());
        }
        if rest
            .split('/')
            .next()
            .is_some_and(|first| first.contains(':'))
        {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    let double = rest.starts_with("//") && (!url.scheme.is_empty() || !rest.starts_with("///"));
    if double {
        let after = &rest[2..];
        let (authority, path) = match after.find('/') {
            Some(at) => after.split_at(at),
            None => (after, ""),
        };
        (url.user, url.host) = parse_authority(authority)?;
        rest = path;
    }
    url.path = unescape(rest, Part::Path)?;
    if escape(&url.path, Part::Path) != rest {
        url.raw_path = rest.to_owned();
    }
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, b) in text.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' => {
                if at == 0 {
                    return Ok(("", text));
                }
            }
            b':' if at == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

type User = Option<(Vec<u8>, Option<Vec<u8>>)>;

fn parse_authority(text: &str) -> Result<(User, String), String> {
    let Some((user, host)) = text.rsplit_once('@') else {
        return Ok((None, parse_host(text)?));
    };
    let host = parse_host(host)?;
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    if !user.bytes().all(legal) {
        return Err("net/url: invalid userinfo".into());
    }
    let user = match user.split_once(':') {
        Some((name, password)) => (
            unescape(name, Part::User)?,
            Some(unescape(password, Part::User)?),
        ),
        None => (unescape(user, Part::User)?, None),
    };
    Ok((Some(user), host))
}

fn parse_host(host: &str) -> Result<String, String> {
    let port = if host.starts_with('[') {
        let Some(end) = host.rfind(']') else {
            return Err("missing ']' in host".into());
        };
        &host[end + 1..]
    } else {
        host.rfind(':').map_or("", |at| &host[at..])
    };
    let valid = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    if !valid {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    let bytes = unescape(host, Part::Host)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unescape(text: &str, part: Part) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(b) = bytes.get(at).copied() {
        if b == b'%' {
            let hex = bytes.get(at + 1..at + 3);
            let code = hex
                .and_then(|hex| std::str::from_utf8(hex).ok())
                .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
                .and_then(|hex| u8::from_str_radix(hex, 16).ok());
            let shown = bytes.get(at..(at + 3).min(bytes.len())).unwrap_or(b"");
            let shown = quote(&String::from_utf8_lossy(shown));
            let Some(code) = code else {
                return Err(format!("invalid URL escape {shown}"));
            };
            // In hosts, only what is not ASCII may be escaped.
            if part == Part::Host && code < 0x80 && shown != "\"%25\"" {
                return Err(format!("invalid URL escape {shown}"));
            }
            out.push(code);
            at += 3;
            continue;
        }
        if b == b'+' && part == Part::Query {
            out.push(b' ');
        } else {
            if part == Part::Host && b < 0x80 && should_escape(b, part) {
                let shown = quote(&char::from(b).to_string());
                return Err(format!("invalid character {shown} in host name"));
            }
            out.push(b);
        }
        at += 1;
    }
    Ok(out)
}

fn should_escape(b: u8, part: Part) -> bool {
    if b.is_ascii_alphanumeric() || b"-_.~".contains(&b) {
        return false;
    }
    match part {
        Part::Host => !b"!$&'()*+,;=:[]<>\"".contains(&b),
        Part::Path => !b"$&+,/:;=@".contains(&b),
        Part::User => !b"$&+,;=".contains(&b),
        Part::Query => true,
        Part::Fragment => !b"$&+,/:;=?@!()*".contains(&b),
    }
}

fn escape(bytes: &[u8], part: Part) -> String {
    let mut out = String::with_capacity(bytes.len());
    for b in bytes {
        if should_escape(*b, part) {
            out.push_str(&format!("%{b:02X}"));
        } else {
            out.push(char::from(*b));
        }
    }
    out
}

impl Url {
    fn escaped_path(&self) -> String {
        let valid = |b: u8| b"!$&'()*+,;=:@[]%".contains(&b) || !should_escape(b, Part::Path);
        if !self.raw_path.is_empty()
            && self.raw_path.bytes().all(valid)
            && unescape(&self.raw_path, Part::Path).is_ok_and(|path| path == self.path)
        {
            return self.raw_path.clone();
        }
        if self.path == b"*" {
            return "*".into();
        }
        escape(&self.path, Part::Path)
    }

    fn split_host(&self) -> (&str, &str) {
        let host = self.host.as_str();
        let colon = host
            .rfind(':')
            .filter(|at| host[at + 1..].bytes().all(|b| b.is_ascii_digit()));
        let (host, port) = match colon {
            Some(at) if !host[at..].contains(']') => (&host[..at], &host[at + 1..]),
            _ => (host, ""),
        };
        let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        (inner.unwrap_or(host), port)
    }

    fn hostname(&self) -> &str {
        self.split_host().0
    }

    fn port(&self) -> &str {
        self.split_host().1
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if !self.opaque.is_empty() {
            f.write_str(&self.opaque)?;
        } else {
            if !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some() {
                if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
                    f.write_str("//")?;
                }
                if let Some((name, password)) = &self.user {
                    f.write_str(&escape(name, Part::User))?;
                    if let Some(password) = password {
                        write!(f, ":{}", escape(password, Part::User))?;
                    }
                    f.write_str("@")?;
                }
                f.write_str(&escape(self.host.as_bytes(), Part::Host))?;
            }
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                f.write_str("/")?;
            }
            f.write_str(&path)?;
        }
        if self.force_query || !self.query.is_empty() {
            write!(f, "?{}", self.query)?;
        }
        if let Some(fragment) = self.fragment.as_deref().filter(|f| !f.is_empty()) {
            write!(f, "#{}", escape(fragment, Part::Fragment))?;
        }
        Ok(())
    }
}

fn to_url<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(text)] = args else {
        return no_such_overload();
    };
    let url = parse(text, true).and_then(|_| parse(text, false));
    match url {
        Ok(url) => Ok(Value::Url(Arc::new(url))),
        Err(why) => Err(EvalError::new(format!(
            "URL parse error during conversion from string: {}",
            wrap(text, &why)
        ))),
    }
}

fn is_url<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => Ok(Value::Bool(parse(text, true).is_ok())),
        _ => no_such_overload(),
    }
}

fn get<'a>(args: &[Value<'a>], get: fn(&Url) -> String) -> EvalResult<'a> {
    match args {
        [Value::Url(url)] => Ok(Value::text(get(url))),
        _ => no_such_overload(),
    }
}

fn get_query<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::Url(url)] = args else {
        return no_such_overload();
    };
    let mut query: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let text = |part: &str| {
        let bytes = unescape(part, Part::Query).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    // What is not well-formed is left out.
    for pair in url
        .query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
    {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(key), Some(value)) = (text(key), text(value)) {
            query.entry(key).or_default().push(value);
        }
    }
    let mut entries = Entries::default();
    for (key, values) in query {
        entries.insert(Value::text(key), Value::strings(values));
    }
    Ok(Value::Map(Map::Values(Arc::new(entries))))
}

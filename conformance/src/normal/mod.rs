//! Normalization: values that differ from run to run are replaced by placeholders.
//!
//! Times, uids and resource versions are numbered in the order in which a scenario sees them, so that a value that
//! should have stayed, or should have changed, is noticed. Values from the scenario itself are kept.

mod certificate;
mod token;

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};
use token::Token;

/// The start of the name of the volume that has the token of a service account.
const TOKEN_VOLUME: &str = "kube-api-access-";

/// The values that a scenario has seen so far.
#[derive(Clone, Debug, Default)]
pub struct Normal {
    namespace: String,
    /// Texts that the runner chose, with the names that scenarios use for them.
    known: Vec<(String, String)>,
    /// Times, addresses and ports from the scenario's own requests.
    given: BTreeSet<String>,
    /// Resource versions from the scenario's own requests.
    given_versions: BTreeSet<String>,
    times: Vec<String>,
    uids: Vec<String>,
    /// The ids of keys that sign tokens.
    keys: Vec<String>,
    versions: Vec<String>,
    /// Names that the server generated, with their prefixes.
    generated: Vec<(String, String)>,
    /// Addresses that were allocated to services.
    addresses: Vec<String>,
}

impl Normal {
    /// Creates a normalizer for a namespace.
    pub fn new(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            ..Self::default()
        }
    }

    /// Adds a text that the runner chose, which becomes its name in angle brackets.
    pub fn known(&mut self, text: &str, name: &str) {
        self.known.push((text.to_owned(), format!("<{name}>")));
    }

    /// Keeps the values of a request.
    pub fn given(&mut self, text: &str) {
        for after in text.split("\"resourceVersion\":\"").skip(1) {
            let version = after.split('"').next().unwrap_or_default();
            self.given_versions.insert(version.to_owned());
        }
        let word = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.'));
        self.given.extend(
            text.split(word)
                .map(|w| w.trim_matches(':'))
                .filter(|w| !w.is_empty())
                .map(str::to_owned),
        );
    }

    /// Normalizes a body.
    pub fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => self.object(fields),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::String(text) => match self.named(text).or_else(|| self.document(text)) {
                Some(document) => document,
                None => Value::String(self.text(text)),
            },
            scalar => scalar.clone(),
        }
    }

    /// Returns the name of a text that the runner chose.
    fn named(&self, text: &str) -> Option<Value> {
        let known = self.known.iter().find(|(known, _)| known == text)?;
        Some(known.1.as_str().into())
    }

    /// Describes a text that is a token or a certificate.
    fn document(&mut self, text: &str) -> Option<Value> {
        if let Some(token) = Token::parse(text) {
            return Some(self.value(&token.described()));
        }
        if text.len() < 100 {
            return None;
        }
        let certificates = certificate::described(text);
        certificates.or_else(|| {
            // Secrets have their tokens in base64.
            let token = String::from_utf8(STANDARD.decode(text).ok()?).ok()?;
            Some(self.value(&Token::parse(&token)?.described()))
        })
    }

    /// Normalizes a text.
    pub fn text(&mut self, text: &str) -> String {
        self.with_document(text).unwrap_or_else(|| self.plain(text))
    }

    /// Normalizes a message that quotes a whole object. The object is parsed, so that the order of its keys is not
    /// compared.
    fn with_document(&mut self, text: &str) -> Option<String> {
        let start = text.find("Invalid value: \"{")? + "Invalid value: ".len();
        let (before, quoted) = text.split_at_checked(start)?;
        let mut quotes = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
        let document: Value = serde_json::from_str(&quotes.next()?.ok()?).ok()?;
        let after = quoted.get(quotes.byte_offset()..)?;
        let document = Value::String(self.value(&document).to_string());
        let (before, after) = (self.plain(before), self.plain(after));
        Some(format!("{before}{document}{after}"))
    }

    fn plain(&mut self, text: &str) -> String {
        if text == STANDARD.encode(&self.namespace) {
            return "<ns in base64>".to_owned();
        }
        let mut text = text.replace(&self.namespace, "<ns>");
        for (known, name) in &self.known {
            text = text.replace(known, name);
        }
        let mut text = self.scan(&text);
        for (name, prefix) in &self.generated {
            text = text.replace(name, &format!("{prefix}<suffix>"));
        }
        for address in &self.addresses {
            text = text.replace(address, "<ip>");
        }
        text
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Value {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
        let (prefix, name) = (text("generateName"), text("name"));
        if !prefix.is_empty() && name.len() > prefix.len() && name.starts_with(prefix) {
            let placed = |text: &str| text.replace(&self.namespace, "<ns>");
            let generated = (placed(name), placed(prefix));
            if !self.generated.contains(&generated) {
                self.generated.push(generated);
            }
        }
        let mut out = Map::new();
        for (key, value) in fields {
            let value = match (key.as_str(), value) {
                ("resourceVersion", Value::String(v))
                    if !v.is_empty() && !self.given_versions.contains(v) =>
                {
                    format!("<version {}>", number(&mut self.versions, v)).into()
                }
                ("resourceVersion", Value::String(v)) if self.versions.contains(v) => {
                    format!("<version {}>", number(&mut self.versions, v)).into()
                }
                ("nodePort" | "healthCheckNodePort", Value::Number(n))
                    if n.as_u64().is_some_and(|n| (30000..32768).contains(&n))
                        && !self.given.contains(&n.to_string()) =>
                {
                    "<port>".into()
                }
                ("clusterIP", Value::String(ip)) if is_address(ip) && !self.given.contains(ip) => {
                    number(&mut self.addresses, ip);
                    "<ip>".into()
                }
                ("kid", Value::String(id)) => {
                    format!("<key {}>", number(&mut self.keys, id)).into()
                }
                ("x" | "y", Value::String(_)) if fields.contains_key("kty") => "<point>".into(),
                ("kubernetes.io/legacy-token-last-used", Value::String(_)) => "<date>".into(),
                ("jwks_uri", Value::String(_)) => "<address>/openid/v1/jwks".into(),
                ("expirationTimestamp", Value::String(time)) if fields.contains_key("token") => {
                    match after_issue(text("token"), time) {
                        Some(seconds) => format!("issued+{seconds}").into(),
                        None => self.value(value),
                    }
                }
                // This is prose, not behaviour.
                ("description", Value::String(_))
                    if fields.contains_key("priority") && fields.contains_key("format") =>
                {
                    "<text>".into()
                }
                (_, value) => self.value(value),
            };
            out.insert(self.text(key), value);
        }
        Value::Object(out)
    }

    fn scan(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let at_word = !out.ends_with(|c: char| c.is_ascii_alphanumeric());
            if at_word && let Some((placeholder, length)) = self.volatile(rest) {
                out.push_str(&placeholder);
                rest = rest.get(length..).unwrap_or_default();
                continue;
            }
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
        out
    }

    /// Returns the placeholder for the start of a text, and the length that it replaces.
    fn volatile(&mut self, text: &str) -> Option<(String, usize)> {
        if let Some(length) = time(text) {
            let time = text.get(..length)?;
            if self.given.contains(time) {
                return None;
            }
            return Some((format!("<time {}>", number(&mut self.times, time)), length));
        }
        if let Some(uid) = text.get(..36).filter(|uid| is_uid(uid)) {
            if self.given.contains(uid) && !self.uids.iter().any(|u| u == uid) {
                return None;
            }
            return Some((format!("<uid {}>", number(&mut self.uids, uid)), 36));
        }
        if let Some(after) = text.strip_prefix("X509SHA256=") {
            let digits = after.bytes().take_while(u8::is_ascii_hexdigit).count();
            return Some(("X509SHA256=<fingerprint>".to_owned(), 11 + digits));
        }
        if let Some(after) = text.strip_prefix(TOKEN_VOLUME) {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric());
            let length = TOKEN_VOLUME.len() + end.unwrap_or(after.len());
            if !self.given.contains(text.get(..length)?) {
                return Some((format!("{TOKEN_VOLUME}<suffix>"), length));
            }
        }
        // Messages may contain objects.
        for mark in ["resourceVersion: \"", "in record ("] {
            if let Some(after) = text.strip_prefix(mark) {
                if after.get(..36).is_some_and(is_uid) {
                    return None;
                }
                let digits =
                    after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                let version = after.get(..digits).filter(|v| !v.is_empty())?;
                if self.given_versions.contains(version)
                    && !self.versions.iter().any(|v| v == version)
                {
                    return None;
                }
                let n = number(&mut self.versions, version);
                return Some((format!("{mark}<version {n}>"), mark.len() + digits));
            }
        }
        None
    }
}

/// Returns the seconds between the issue of a token and a time.
fn after_issue(token: &str, time: &str) -> Option<i64> {
    let time: jiff::Timestamp = time.parse().ok()?;
    Some(time.as_second() - Token::parse(token)?.issued()?)
}

/// Removes the numbers from the placeholders of times, uids and versions, where their order is random.
pub fn without_numbers(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (key, without_numbers(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.into_iter().map(without_numbers).collect(),
        Value::String(text) => {
            let numbered = |mark: &str| text.starts_with(mark) && text.ends_with('>');
            let known = ["time", "uid", "version"];
            match known.iter().find(|name| numbered(&format!("<{name} "))) {
                Some(name) => format!("<{name}>").into(),
                None => Value::String(text),
            }
        }
        other => other,
    }
}

/// Returns the index of a text among those seen, from one.
fn number(seen: &mut Vec<String>, text: &str) -> usize {
    if let Some(at) = seen.iter().position(|t| t == text) {
        return at + 1;
    }
    seen.push(text.to_owned());
    seen.len()
}

/// Returns the length of `2026-01-02T03:04:05Z` or `2026-01-02T03:04:05.000006Z` at the start of a text.
fn time(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let fits = bytes.len() > shape.len()
        && shape.iter().zip(bytes).all(|(s, b)| match s {
            b'd' => b.is_ascii_digit(),
            s => s == b,
        });
    if !fits {
        return None;
    }
    let after = text.get(shape.len()..)?;
    let fraction = after.strip_prefix('.').unwrap_or(after);
    let end = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    end.starts_with('Z').then(|| text.len() - end.len() + 1)
}

fn is_uid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
    })
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Normal;

    #[test]
    fn repeated_values_keep_their_number() {
        let mut normal = Normal::new("here");
        let seen = normal.value(&json!({
            "a": "2026-01-02T03:04:05Z", "b": "2026-01-02T03:04:06.5Z", "c": "at 2026-01-02T03:04:05Z in here",
            "resourceVersion": "7", "list": [{"resourceVersion": "7"}, {"resourceVersion": "8"}],
        }));
        let placeholders = json!({
            "a": "<time 1>", "b": "<time 2>", "c": "at <time 1> in <ns>",
            "resourceVersion": "<version 1>", "list": [{"resourceVersion": "<version 1>"}, {"resourceVersion": "<version 2>"}],
        });
        assert_eq!(seen, placeholders);
    }

    #[test]
    fn values_of_the_request_are_kept() {
        let mut normal = Normal::new("here");
        normal.given(r#"{"clusterIP":"10.0.0.7","t":"2024-01-01T00:00:00Z","nodePort":30007}"#);
        let object =
            json!({"clusterIP": "10.0.0.7", "t": "2024-01-01T00:00:00Z", "nodePort": 30007});
        assert_eq!(normal.value(&object), object);
        let other =
            json!({"clusterIP": "10.0.0.8", "clusterIPs": ["10.0.0.8", "None"], "nodePort": 30008});
        let placeholders =
            json!({"clusterIP": "<ip>", "clusterIPs": ["<ip>", "None"], "nodePort": "<port>"});
        assert_eq!(normal.value(&other), placeholders);
    }

    #[test]
    fn a_made_name_is_its_prefix() {
        let mut normal = Normal::new("here");
        let object = json!({"metadata": {"generateName": "x-", "name": "x-abcde"}});
        let placeholders = json!({"metadata": {"generateName": "x-", "name": "x-<suffix>"}});
        assert_eq!(normal.value(&object), placeholders);
        assert_eq!(
            normal.text("pods \"x-abcde\" not found"),
            "pods \"x-<suffix>\" not found"
        );
    }
}

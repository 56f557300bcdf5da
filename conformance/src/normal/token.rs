//! JSON web tokens in answers: their header and claims are compared, with times relative to that of their issue.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

/// The claims that are times.
const TIMES: [&str; 4] = ["exp", "iat", "nbf", "warnafter"];

/// A decoded token.
#[derive(Debug)]
pub(super) struct Token {
    header: Map<String, Value>,
    claims: Map<String, Value>,
}

impl Token {
    /// Decodes a text that is a token.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let header = decoded(parts.next()?)?;
        let claims = decoded(parts.next()?)?;
        parts.next()?;
        parts.next().is_none().then_some(Self { header, claims })
    }

    /// Returns the second in which it was issued.
    pub(super) fn issued(&self) -> Option<i64> {
        self.claims.get("iat")?.as_i64()
    }

    /// Returns the header and the claims with relative times.
    pub(super) fn described(self) -> Value {
        let issued = self.issued();
        let mut out = Map::new();
        out.insert("header".to_owned(), Value::Object(self.header));
        out.insert("claims".to_owned(), relative(self.claims.into(), issued));
        Value::Object(out)
    }
}

fn relative(value: Value, issued: Option<i64>) -> Value {
    let Value::Object(fields) = value else {
        return value;
    };
    let field = |(name, value): (String, Value)| {
        let value = match (value.as_i64(), issued) {
            (Some(time), Some(issued)) if TIMES.contains(&name.as_str()) => {
                format!("issued+{}", time - issued).into()
            }
            _ => relative(value, issued),
        };
        (name, value)
    };
    fields.into_iter().map(field).collect::<Map<_, _>>().into()
}

fn decoded(part: &str) -> Option<Map<String, Value>> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    use serde_json::json;

    use super::Token;

    #[test]
    fn times_are_relative_to_the_issue() {
        let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = part(json!({"alg": "ES256"}));
        let claims = part(json!({"iat": 100, "exp": 3700, "kubernetes.io": {"warnafter": 160}}));
        let token = Token::parse(&format!("{header}.{claims}.c2ln")).unwrap();
        let expected = json!({
            "header": {"alg": "ES256"},
            "claims": {"iat": "issued+0", "exp": "issued+3600", "kubernetes.io": {"warnafter": "issued+60"}},
        });
        assert_eq!(token.described(), expected);
        assert!(Token::parse("a.b.c").is_none());
    }
}

//! The claims of service-account tokens, as they are written and read.

use jiff::Timestamp;
use kubewright_apiserver::{
    auth::{AUTHENTICATED, service_account_groups},
    request::UserInfo,
};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

/// The issuer of tokens that are stored in Secrets.
pub(super) const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";

/// The difference between clocks that does not matter, in seconds.
pub(super) const LEEWAY_SECONDS: i64 = 60;

/// The errors about claims of another type, in the words of Kubernetes.
const NO_DATE: &str = "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate";
const NO_AUDIENCE: &str =
    "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience";

const NANOSECONDS: i128 = 1_000_000_000;

/// An object that a token names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reference {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) uid: String,
}

/// The claims of a bound token. Fields are in the order in which they are written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Bound {
    #[serde(deserialize_with = "audiences")]
    pub(super) aud: Vec<String>,
    #[serde(deserialize_with = "date")]
    pub(super) exp: Option<i64>,
    #[serde(deserialize_with = "date")]
    pub(super) iat: Option<i64>,
    #[serde(deserialize_with = "text")]
    pub(super) iss: String,
    #[serde(deserialize_with = "text")]
    pub(super) jti: String,
    #[serde(rename = "kubernetes.io", deserialize_with = "or_default")]
    pub(super) kubernetes: Kubernetes,
    #[serde(deserialize_with = "date")]
    pub(super) nbf: Option<i64>,
    #[serde(deserialize_with = "text")]
    pub(super) sub: String,
}

/// The claims of Kubernetes in a bound token.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kubernetes {
    #[serde(deserialize_with = "text")]
    pub(super) namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Reference>,
    #[serde(deserialize_with = "or_default")]
    pub(super) serviceaccount: Reference,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "date")]
    pub(super) warnafter: Option<i64>,
}

/// The claims of a token that is stored in a Secret.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Legacy {
    #[serde(skip_serializing, deserialize_with = "audiences")]
    pub(super) aud: Vec<String>,
    #[serde(deserialize_with = "text")]
    pub(super) iss: String,
    #[serde(rename = "kubernetes.io/serviceaccount/namespace")]
    pub(super) namespace: String,
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name")]
    pub(super) secret: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.name")]
    pub(super) account: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.uid")]
    pub(super) uid: String,
    #[serde(deserialize_with = "text")]
    pub(super) sub: String,
}

/// The claim with the issuer of a token, read before anything is verified.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Issuer {
    #[serde(deserialize_with = "text")]
    pub(super) iss: String,
}

impl Bound {
    /// Checks the time claims.
    pub(super) fn check_time(&self, now: Timestamp) -> Result<(), &'static str> {
        let nanoseconds = |seconds: i64| i128::from(seconds) * NANOSECONDS;
        let (now, leeway) = (now.as_nanosecond(), nanoseconds(LEEWAY_SECONDS));
        let is_future = |claim: Option<i64>| claim.is_some_and(|at| now + leeway < nanoseconds(at));
        if is_future(self.nbf) {
            return Err("service account token is not valid yet");
        }
        if self.exp.is_some_and(|at| now - leeway > nanoseconds(at)) {
            return Err("service account token has expired");
        }
        if is_future(self.iat) {
            return Err("service account token is issued in the future");
        }
        Ok(())
    }

    /// Returns the user that the token identifies.
    pub(super) fn user(&self) -> UserInfo {
        let claims = &self.kubernetes;
        let account = &claims.serviceaccount;
        let mut extra = Vec::new();
        let mut add = |key: &str, value: String| {
            let key = format!("authentication.kubernetes.io/{key}");
            extra.push((key, vec![value]));
        };
        if !self.jti.is_empty() {
            add("credential-id", credential_id(&self.jti));
        }
        if let Some(node) = claims.node.as_ref().filter(|node| !node.name.is_empty()) {
            add("node-name", node.name.clone());
            if !node.uid.is_empty() {
                add("node-uid", node.uid.clone());
            }
        }
        if let Some(pod) = &claims.pod
            && !pod.name.is_empty()
            && !pod.uid.is_empty()
        {
            add("pod-name", pod.name.clone());
            add("pod-uid", pod.uid.clone());
        }
        UserInfo {
            extra,
            ..user(&claims.namespace, &account.name, &account.uid)
        }
    }
}

/// Describes claims that cannot be read.
pub(super) fn unreadable(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.strip_prefix("go-jose/") {
        // Without the position.
        Some(_) => text
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned(),
        None => "the claims of the token cannot be read".to_owned(),
    }
}

/// Returns the user of a service account.
pub(super) fn user(namespace: &str, name: &str, uid: &str) -> UserInfo {
    let [all, of_namespace] = service_account_groups(namespace);
    UserInfo {
        name: subject(namespace, name),
        uid: uid.to_owned(),
        groups: vec![all, of_namespace, AUTHENTICATED.to_owned()],
        extra: Vec::new(),
    }
}

/// Returns the name of the user that a service account is.
pub(super) fn subject(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// Returns the text by which audit events identify a token.
pub(super) fn credential_id(jti: &str) -> String {
    format!("JTI={jti}")
}

/// Reads one audience or a list of them.
fn audiences<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    let invalid = || de::Error::custom(NO_AUDIENCE);
    match Value::deserialize(input)? {
        Value::Null => Ok(Vec::new()),
        Value::String(audience) => Ok(vec![audience]),
        Value::Array(list) => {
            let audience = |item: &Value| item.as_str().map(str::to_owned);
            let audiences: Option<Vec<String>> = list.iter().map(audience).collect();
            audiences.ok_or_else(invalid)
        }
        _ => Err(invalid()),
    }
}

/// Reads a number of seconds, of which a fraction is dropped.
fn date<'de, D: Deserializer<'de>>(input: D) -> Result<Option<i64>, D::Error> {
    let number = match Value::deserialize(input)? {
        Value::Null => return Ok(None),
        Value::Number(number) => number,
        _ => return Err(de::Error::custom(NO_DATE)),
    };
    let seconds = match (number.as_i64(), number.as_f64()) {
        (Some(seconds), _) => Some(seconds),
        // Further away than any clock will be.
        (None, Some(seconds)) if seconds.abs() < 9e15 => Some(seconds as i64),
        _ => None,
    };
    let out_of_range = || de::Error::custom("a date out of range");
    seconds.map(Some).ok_or_else(out_of_range)
}

/// Reads a text; null is an empty one, as in Go.
fn text<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    or_default(input)
}

fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    input: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bound(claims: serde_json::Value) -> Option<Bound> {
        serde_json::from_value(claims).ok()
    }

    #[test]
    fn claims_are_written_in_order_and_read_back() {
        let reference = |name: &str| Reference {
            name: name.into(),
            uid: format!("{name}-uid"),
        };
        let claims = Bound {
            aud: vec!["api".into()],
            exp: Some(4600),
            iat: Some(1000),
            nbf: Some(1000),
            iss: "https://issuer".into(),
            jti: "id".into(),
            sub: subject("shop", "web"),
            kubernetes: Kubernetes {
                namespace: "shop".into(),
                node: Some(reference("n1")),
                pod: Some(reference("web-1")),
                secret: None,
                serviceaccount: reference("web"),
                warnafter: None,
            },
        };
        let text = serde_json::to_string(&claims).unwrap();
        assert_eq!(
            text,
            r#"{"aud":["api"],"exp":4600,"iat":1000,"iss":"https://issuer","jti":"id","kubernetes.io":{"namespace":"shop","node":{"name":"n1","uid":"n1-uid"},"pod":{"name":"web-1","uid":"web-1-uid"},"serviceaccount":{"name":"web","uid":"web-uid"}},"nbf":1000,"sub":"system:serviceaccount:shop:web"}"#
        );
        let read: Bound = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        let user = read.user();
        assert_eq!(user.name, "system:serviceaccount:shop:web");
        assert_eq!(user.uid, "web-uid");
        let groups = [
            "system:serviceaccounts",
            "system:serviceaccounts:shop",
            "system:authenticated",
        ];
        assert_eq!(user.groups, groups);
        let extra: Vec<_> = user
            .extra
            .iter()
            .map(|(k, v)| format!("{k}={}", v[0]))
            .collect();
        let expected = [
            "authentication.kubernetes.io/credential-id=JTI=id",
            "authentication.kubernetes.io/node-name=n1",
            "authentication.kubernetes.io/node-uid=n1-uid",
            "authentication.kubernetes.io/pod-name=web-1",
            "authentication.kubernetes.io/pod-uid=web-1-uid",
        ];
        assert_eq!(extra, expected);
    }

    #[test]
    fn claims_of_other_types_are_errors_and_null_is_nothing() {
        let null = json!({"aud": null, "exp": null, "iss": null, "kubernetes.io": null});
        let null = bound(null).unwrap();
        assert!(null.aud.is_empty() && null.exp.is_none() && null.iss.is_empty());
        assert_eq!(bound(json!({"aud": "one"})).unwrap().aud, ["one"]);
        assert_eq!(bound(json!({"exp": 12.9})).unwrap().exp, Some(12));
        for claims in [
            json!({"exp": "12"}),
            json!({"exp": 1e300}),
            json!({"aud": [1]}),
            json!({"sub": {}}),
            json!({"kubernetes.io": {"pod": "p"}}),
        ] {
            assert!(bound(claims.clone()).is_none(), "{claims}");
        }
        let error = |json: &str| unreadable(&serde_json::from_str::<Bound>(json).unwrap_err());
        assert_eq!(error(r#"{"exp":"12"}"#), NO_DATE);
        assert_eq!(error(r#"{"aud":{}}"#), NO_AUDIENCE);
        assert_eq!(error("[["), "the claims of the token cannot be read");
        let twice = r#"{"sub":"a","sub":"b"}"#;
        assert!(serde_json::from_str::<Bound>(twice).is_err());
    }

    #[test]
    fn clocks_may_differ_by_a_minute() {
        let claims = Bound {
            nbf: Some(1000),
            iat: Some(1000),
            exp: Some(2000),
            ..Bound::default()
        };
        let check = |second, nanosecond| {
            let now = Timestamp::new(second, nanosecond).unwrap();
            claims.check_time(now)
        };
        assert_eq!(check(940, 0), Ok(()));
        assert_eq!(check(939, 0), Err("service account token is not valid yet"));
        assert_eq!(check(2060, 0), Ok(()));
        assert_eq!(check(2060, 1), Err("service account token has expired"));
        let issued_later = Bound {
            nbf: None,
            ..claims
        };
        assert_eq!(
            issued_later.check_time(Timestamp::new(900, 0).unwrap()),
            Err("service account token is issued in the future")
        );
        assert_eq!(Bound::default().check_time(Timestamp::MIN), Ok(()));
    }
}

//! [`BootstrapTokens`]: tokens that are stored in Secrets, for machines that join a cluster.

use jiff::Timestamp;
use kubewright_apiserver::{
    SharedClock,
    auth::{Authenticated, AuthenticationError, TokenAuthenticator},
    boxed_async,
    registry::Fields,
    request::UserInfo,
};
use kubewright_machinery::{
    go::base64::{self, Encoding},
    json::Read,
};
use serde_json::Value;
use subtle::ConstantTimeEq;

use crate::service_accounts::Objects;

const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;
const GROUP: &str = "system:bootstrappers";
/// The maximum length of the part of a group after `system:bootstrappers:`.
const MAX_GROUP_LENGTH: usize = 256;

/// Authenticates machines by the tokens of Secrets `kube-system/bootstrap-token-<id>`.
pub(super) struct BootstrapTokens {
    objects: Objects,
    fields: Fields,
    clock: SharedClock,
}

impl BootstrapTokens {
    pub(super) fn new(objects: Objects, clock: SharedClock) -> Self {
        Self {
            objects,
            fields: Fields::new(["metadata.deletionTimestamp", "type", "data"]),
            clock,
        }
    }
}

#[boxed_async]
impl TokenAuthenticator for BootstrapTokens {
    async fn authenticate_token(
        &self,
        token: &str,
        _audiences: &[String],
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let Some((id, secret)) = split(token) else {
            return Ok(None);
        };
        let name = format!("bootstrap-token-{id}");
        let stored = self
            .objects
            .fields("secrets", "kube-system", &name, &self.fields)
            .await
            .map_err(|e| AuthenticationError::new(e.to_string()))?;
        // Whatever is wrong with it, it is not a token.
        Ok(stored
            .and_then(|stored| user(&stored, id, secret, self.clock.now()))
            .map(Into::into))
    }
}

/// Returns the id and the secret of a token.
fn split(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.split_once('.')?;
    let is_plain = |part: &str| {
        let mut bytes = part.bytes();
        bytes.all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
    };
    let has_form = id.len() == ID_LENGTH && secret.len() == SECRET_LENGTH;
    (has_form && is_plain(id) && is_plain(secret)).then_some((id, secret))
}

/// Returns the user of a Secret, if it is a valid token with this id and secret.
fn user(stored: &Value, id: &str, secret: &str, now: Timestamp) -> Option<UserInfo> {
    if stored["metadata"]["deletionTimestamp"].is_set()
        || stored["type"].text() != "bootstrap.kubernetes.io/token"
    {
        return None;
    }
    let data = |key: &str| {
        let value = base64::decode(stored["data"][key].text(), Encoding::Standard);
        value.unwrap_or_default()
    };
    if !bool::from(data("token-secret").ct_eq(secret.as_bytes()))
        || data("token-id") != id.as_bytes()
    {
        return None;
    }
    let text = |key| String::from_utf8(data(key)).ok();
    let expiration = text("expiration")?;
    if !expiration.is_empty() {
        let expiration: Timestamp = expiration.parse().ok()?;
        if expiration <= now {
            return None;
        }
    }
    if data("usage-bootstrap-authentication") != b"true" {
        return None;
    }
    Some(UserInfo {
        name: format!("system:bootstrap:{id}"),
        groups: groups(&text("auth-extra-groups")?)?,
        ..UserInfo::default()
    })
}

/// Returns the sorted groups, or `None` if one of them is not a group of such tokens.
fn groups(extra: &str) -> Option<Vec<String>> {
    let mut groups = vec![GROUP.to_owned()];
    for group in extra.split(',').filter(|_| !extra.is_empty()) {
        let name = group.strip_prefix(GROUP)?.strip_prefix(':')?;
        let is_alphanumeric = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        let valid = name.len() <= MAX_GROUP_LENGTH
            && name
                .bytes()
                .all(|b| is_alphanumeric(b) || matches!(b, b':' | b'-'))
            && name.bytes().last().is_some_and(is_alphanumeric);
        if !valid {
            return None;
        }
        groups.push(group.to_owned());
    }
    groups.sort_unstable();
    groups.dedup();
    Some(groups)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(data: &[(&str, &str)]) -> Value {
        let mut secret = json!({"type": "bootstrap.kubernetes.io/token", "data": {
            "token-id": base64::encode(b"abc123"),
            "token-secret": base64::encode(b"0123456789abcdef"),
            "usage-bootstrap-authentication": base64::encode(b"true"),
        }});
        for (key, value) in data {
            secret["data"][*key] = json!(base64::encode(value.as_bytes()));
        }
        secret
    }

    fn known(secret: &Value) -> Option<UserInfo> {
        let now = "2026-05-01T12:00:00Z".parse().unwrap();
        user(secret, "abc123", "0123456789abcdef", now)
    }

    #[test]
    fn tokens_have_a_form() {
        assert!(split("abc123.0123456789abcdef").is_some());
        for token in [
            "abc12.0123456789abcdef",
            "abc123.0123456789abcde",
            "ABC123.0123456789abcdef",
            "abc123.0123456789abcdeF",
            "abc123.01234567.9abcdef",
            "abc1230123456789abcdef",
        ] {
            assert!(split(token).is_none(), "{token}");
        }
    }

    #[test]
    fn a_secret_names_its_user_and_groups() {
        let user = known(&stored(&[])).unwrap();
        assert_eq!(user.name, "system:bootstrap:abc123");
        assert_eq!(user.groups, ["system:bootstrappers"]);
        let extra = "system:bootstrappers:b,system:bootstrappers:a:x-1";
        let user = known(&stored(&[("auth-extra-groups", extra)])).unwrap();
        let groups = [
            "system:bootstrappers",
            "system:bootstrappers:a:x-1",
            "system:bootstrappers:b",
        ];
        assert_eq!(user.groups, groups);
        let later = stored(&[("expiration", "2026-05-01T12:00:01Z")]);
        assert!(known(&later).is_some());
    }

    #[test]
    fn invalid_secrets_are_not_tokens() {
        for (key, value) in [
            ("token-id", "abc124"),
            ("token-secret", "0123456789abcdee"),
            ("token-secret", ""),
            ("usage-bootstrap-authentication", "false"),
            ("usage-bootstrap-authentication", ""),
            ("expiration", "2026-05-01T12:00:00Z"),
            ("expiration", "tomorrow"),
            ("auth-extra-groups", "system:masters"),
            ("auth-extra-groups", "system:bootstrappers:"),
            ("auth-extra-groups", "system:bootstrappers:A"),
            ("auth-extra-groups", "system:bootstrappers:a-"),
            ("auth-extra-groups", "system:bootstrappers:a,"),
        ] {
            let secret = stored(&[(key, value)]);
            assert_eq!(known(&secret), None, "{key}: {value}");
        }
        let mut other_type = stored(&[]);
        other_type["type"] = json!("Opaque");
        assert_eq!(known(&other_type), None);
        let mut deleted = stored(&[]);
        deleted["metadata"]["deletionTimestamp"] = json!("2026-05-01T11:00:00Z");
        assert_eq!(known(&deleted), None);
    }
}

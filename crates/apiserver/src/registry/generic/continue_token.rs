//! Continue tokens of chunked lists.
//!
//! The token has the form of kube-apiserver: base64 of `{"v":"meta.k8s.io/v1","rv":N,"start":"key\0"}`, the key relative to
//! the list. The revision -1 means the newest.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use kubewright_machinery::{Status, go, status};
use serde::{Deserialize, Serialize};

/// A position in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContinueToken {
    /// The revision of the first chunk; `None` is the newest.
    pub(super) revision: Option<u64>,
    /// The first key to read, relative to the prefix of the list.
    pub(super) start: String,
}

#[derive(Default, Serialize, Deserialize)]
struct Wire {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl ContinueToken {
    pub(super) fn encode(&self) -> String {
        let rv = self.revision.map_or(-1, |r| i64::try_from(r).unwrap_or(-1));
        let wire = Wire {
            v: "meta.k8s.io/v1".into(),
            rv,
            start: self.start.clone(),
        };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).expect("plain data"))
    }

    pub(super) fn decode(text: &str) -> Result<Self, Status> {
        let bad = |detail: String| {
            status::bad_request(format!(
                "invalid continue token: continue key is not valid{detail}"
            ))
        };
        let bytes = go::base64::decode(text, go::base64::Encoding::RawUrl)
            .map_err(|e| bad(format!(": {e}")))?;
        let wire: Option<Wire> = serde_json::from_slice(&bytes)
            .map_err(|_| bad(format!(": {}", parse_error(&bytes))))?;
        let wire = wire.unwrap_or_default();
        if wire.v != "meta.k8s.io/v1" {
            return Err(bad(format!(
                ": server does not recognize this encoded version {}",
                wire.v
            )));
        }
        if wire.rv == 0 {
            return Err(bad(
                ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)".into(),
            ));
        }
        if wire.start.is_empty() {
            return Err(bad(
                ": encoded start key empty (version meta.k8s.io/v1)".into()
            ));
        }
        if !is_clean(&wire.start) {
            return Err(bad(format!(": {}", wire.start)));
        }
        let start = wire
            .start
            .strip_prefix('/')
            .unwrap_or(&wire.start)
            .to_owned();
        Ok(Self {
            revision: u64::try_from(wire.rv).ok(),
            start,
        })
    }
}

/// Rejects a key that leaves the list.
fn is_clean(key: &str) -> bool {
    let key = key.strip_prefix('/').unwrap_or(key);
    !key.is_empty() && key.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn parse_error(bytes: &[u8]) -> String {
    match kubewright_schema::parse_json(bytes) {
        Err(e) => e.to_string(),
        Ok(_) => "json: cannot unmarshal value into Go value of type storage.continueToken".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_the_round_trip() {
        let token = ContinueToken {
            revision: Some(7),
            start: "ns/name\0".into(),
        };
        assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
        let newest = ContinueToken {
            revision: None,
            start: "b\0".into(),
        };
        assert_eq!(ContinueToken::decode(&newest.encode()), Ok(newest));
    }

    #[test]
    fn a_token_cannot_climb_out_of_its_list() {
        for start in ["../../x", "a/../../x", "a//b", "./a", "/", "a/.."] {
            let token = ContinueToken {
                revision: Some(1),
                start: start.into(),
            };
            let error = ContinueToken::decode(&token.encode()).unwrap_err();
            assert_eq!(error.code, 400, "{start}");
        }
    }

    #[test]
    fn garbage_is_a_bad_request() {
        for text in ["abc", "%%%", "", "bnVsbA"] {
            assert_eq!(ContinueToken::decode(text).unwrap_err().code, 400, "{text}");
        }
    }
}

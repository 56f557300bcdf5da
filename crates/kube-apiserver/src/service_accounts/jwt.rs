//! JSON Web Tokens in their compact form, as far as issuers of service-account tokens need them: one signature, three
//! algorithms, no encryption.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::keys::{Algorithm, KeyError, SigningKey};

/// The maximum length of a token, in bytes. Tokens have about 1 KiB; only a long list of audiences makes one longer.
pub(super) const MAX_LENGTH: usize = 64 << 10;

/// A token that is split into its parts. Nothing is verified.
#[derive(Clone, Copy)]
pub(super) struct Compact<'a> {
    /// The text that the signature is about.
    pub(super) signed: &'a str,
    header: &'a str,
    payload: &'a str,
    pub(super) signature: &'a str,
}

/// The parts of the header that matter. Keys and certificates that a header carries are ignored.
#[derive(Deserialize)]
pub(super) struct Header {
    #[serde(default)]
    pub(super) alg: Option<String>,
    /// The id of the key.
    #[serde(default)]
    pub(super) kid: Option<String>,
    /// The names of extensions that a verifier must understand. None is known here.
    #[serde(default)]
    pub(super) crit: Option<IgnoredAny>,
}

#[derive(Serialize)]
struct NewHeader<'a> {
    alg: &'static str,
    kid: &'a str,
}

impl<'a> Compact<'a> {
    /// Splits a token. Returns `None` if it does not have three parts, or is too long.
    pub(super) fn split(token: &'a str) -> Option<Self> {
        if token.len() > MAX_LENGTH {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        (!payload.contains('.')).then_some(Self {
            signed,
            header,
            payload,
            signature,
        })
    }

    /// Decodes the payload, or a part of it. Returns `None` if it is not encoded properly, and an error if it is not such
    /// JSON.
    pub(super) fn payload<T: for<'de> Deserialize<'de>>(
        &self,
    ) -> Option<Result<T, serde_json::Error>> {
        let json = decode(self.payload)?;
        Some(serde_json::from_slice(&json))
    }

    /// Decodes the header. Returns `None` if it is malformed.
    pub(super) fn header(&self) -> Option<Header> {
        let json = decode(self.header)?;
        serde_json::from_slice(&json).ok()
    }

    /// Decodes the signature. Returns `None` if it is malformed.
    pub(super) fn decoded_signature(&self) -> Option<Vec<u8>> {
        decode(self.signature)
    }
}

impl Header {
    /// Returns the algorithm, if it is supported and the header has no critical extensions.
    pub(super) fn algorithm(&self) -> Option<Algorithm> {
        match self.crit {
            None => Algorithm::of_name(self.alg.as_deref()?),
            Some(_) => None,
        }
    }
}

/// Signs claims.
pub(super) fn sign(key: &SigningKey, claims: &impl Serialize) -> Result<String, KeyError> {
    let header = NewHeader {
        alg: key.public().algorithm().name(),
        kid: key.public().id(),
    };
    let mut token = encode(&header)?;
    token.push('.');
    token.push_str(&encode(claims)?);
    let signature = key.sign(token.as_bytes())?;
    token.push('.');
    BASE64_URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(token)
}

fn encode(part: &impl Serialize) -> Result<String, KeyError> {
    let json = serde_json::to_vec(part).map_err(|_| KeyError::Signing)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(json))
}

fn decode(part: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(part).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_three_parts() {
        assert!(Compact::split("a.b.c").is_some());
        assert!(Compact::split("..").is_some());
        for text in ["", "a", "a.b", "a.b.c.d"] {
            assert!(Compact::split(text).is_none(), "{text}");
        }
        let long = format!("a.{}.c", "b".repeat(MAX_LENGTH));
        assert!(Compact::split(&long).is_none());
    }

    #[test]
    fn malformed_parts_are_not_a_token() {
        let payload = |text: &str| {
            let token = format!("e30.{text}.c2ln");
            let token = Compact::split(&token).unwrap();
            token
                .payload::<serde_json::Value>()
                .is_some_and(|json| json.is_ok())
        };
        assert!(payload("e30"));
        // Padding, characters of the other alphabet, bits after the end, and no JSON.
        for text in ["e30=", "e+0", "e31", "e3", "YQ"] {
            assert!(!payload(text), "{text}");
        }
    }

    #[test]
    fn only_known_algorithms_without_demands_are_verified() {
        let algorithm = |json: &str| {
            let token = format!("{}.e30.e30", BASE64_URL_SAFE_NO_PAD.encode(json));
            Compact::split(&token)
                .unwrap()
                .header()
                .unwrap()
                .algorithm()
        };
        assert_eq!(algorithm(r#"{"alg":"ES256"}"#), Some(Algorithm::Es256));
        for json in [
            r#"{}"#,
            r#"{"alg":"none"}"#,
            r#"{"alg":"HS256"}"#,
            r#"{"alg":"es256"}"#,
            r#"{"alg":"ES256","crit":["exp"]}"#,
            r#"{"alg":"ES256","crit":[]}"#,
        ] {
            assert_eq!(algorithm(json), None, "{json}");
        }
    }
}

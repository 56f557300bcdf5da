//! The documents by which others verify service-account tokens: the issuer's configuration and its keys.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use kubewright_apiserver::Document;
use serde::Serialize;

use super::keys::{ServiceAccountKeys, VerificationKey};

/// The path of the configuration.
const CONFIGURATION_PATH: &str = "/.well-known/openid-configuration";
/// The path of the keys.
const KEYS_PATH: &str = "/openid/v1/jwks";

const CACHE_CONTROL: &str = "public, max-age=3600";

/// The documents of an issuer.
#[derive(Clone)]
pub(crate) struct Documents {
    configuration: Bytes,
    keys: Bytes,
}

#[derive(Serialize)]
struct Configuration<'a> {
    issuer: &'a str,
    jwks_uri: &'a str,
    response_types_supported: [&'static str; 1],
    subject_types_supported: [&'static str; 1],
    id_token_signing_alg_values_supported: Vec<&'static str>,
}

#[derive(Serialize)]
struct KeySet<'a> {
    keys: Vec<Key<'a>>,
}

#[derive(Serialize)]
struct Key<'a> {
    #[serde(rename = "use")]
    usage: &'static str,
    kty: &'static str,
    kid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    crv: Option<&'static str>,
    alg: &'static str,
    #[serde(flatten)]
    numbers: Numbers,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Numbers {
    Point { x: String, y: String },
    Rsa { n: String, e: String },
}

impl Documents {
    /// Returns the documents of an issuer, or the reason why there can be none.
    pub(super) fn new(
        issuer: &str,
        keys_uri: Option<&str>,
        address: &str,
        keys: &ServiceAccountKeys,
    ) -> Result<Self, String> {
        check_issuer(issuer)?;
        let keys_uri = match (keys_uri, address) {
            (Some(uri), _) if uri.starts_with("https://") => uri.to_owned(),
            (Some(uri), _) => {
                return Err(format!("jwksURI requires https scheme, parsed as: {uri}"));
            }
            (None, "") => {
                return Err("the server has no address, and there is no JWKS URI".to_owned());
            }
            (None, address) => format!("https://{address}{KEYS_PATH}"),
        };
        let verification = keys.verification();
        let mut algorithms: Vec<_> = verification.iter().map(|key| key.algorithm()).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let configuration = Configuration {
            issuer,
            jwks_uri: &keys_uri,
            response_types_supported: ["id_token"],
            subject_types_supported: ["public"],
            id_token_signing_alg_values_supported: algorithms.iter().map(|a| a.name()).collect(),
        };
        let keys = KeySet {
            keys: verification.iter().filter_map(|key| web_key(key)).collect(),
        };
        Ok(Self {
            configuration: encode(&configuration)?,
            keys: encode(&keys)?,
        })
    }

    /// Returns the documents as they are served.
    pub(crate) fn served(&self) -> [Document; 2] {
        let document = |path, media, content: &Bytes| Document {
            cache_control: Some(CACHE_CONTROL.to_owned()),
            ..Document::new(path, media, content.clone())
        };
        [
            document(CONFIGURATION_PATH, "application/json", &self.configuration),
            document(KEYS_PATH, "application/jwk-set+json", &self.keys),
        ]
    }
}

/// Checks that an issuer is a URL from which others can fetch the documents.
fn check_issuer(issuer: &str) -> Result<(), String> {
    if !issuer.starts_with("https://") {
        return Err(format!("issuer URL must use https scheme, got: {issuer}"));
    }
    if issuer.contains('?') {
        return Err(format!("issuer URL may not include a query, got: {issuer}"));
    }
    if issuer.contains('#') {
        return Err(format!(
            "issuer URL may not include a fragment, got: {issuer}"
        ));
    }
    Ok(())
}

fn encode(document: &impl Serialize) -> Result<Bytes, String> {
    let json = serde_json::to_vec(document).map_err(|e| e.to_string())?;
    Ok(json.into())
}

/// Returns a key as a JSON Web Key.
fn web_key(key: &VerificationKey) -> Option<Key<'_>> {
    let number = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let (kty, crv, numbers) = match key.public().rsa_numbers() {
        Some((modulus, exponent)) => {
            let (n, e) = (number(modulus), number(exponent));
            ("RSA", None, Numbers::Rsa { n, e })
        }
        None => {
            // An uncompressed point: a byte that says so, and two coordinates of the same length.
            let coordinates = key.public().key_bytes().strip_prefix(&[4])?;
            let (x, y) = coordinates.split_at_checked(coordinates.len() / 2)?;
            let curve = match x.len() {
                32 => "P-256",
                _ => "P-384",
            };
            let (x, y) = (number(x), number(y));
            ("EC", Some(curve), Numbers::Point { x, y })
        }
    };
    Some(Key {
        usage: "sig",
        kty,
        kid: key.id(),
        crv,
        alg: key.algorithm().name(),
        numbers,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_documents_name_the_issuer_and_its_keys() {
        let old = ServiceAccountKeys::generate();
        let keys = ServiceAccountKeys::generate();
        let old = old.signing_key_pem().unwrap();
        let keys = keys.verify_with_pem(old.as_bytes()).unwrap();
        let documents = Documents::new("https://issuer", None, "10.0.0.1:6443", &keys).unwrap();
        let text = String::from_utf8(documents.configuration.to_vec()).unwrap();
        assert_eq!(
            text,
            r#"{"issuer":"https://issuer","jwks_uri":"https://10.0.0.1:6443/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}"#
        );
        let set: Value = serde_json::from_slice(&documents.keys).unwrap();
        let ids: Vec<&str> = keys.verification().iter().map(|key| key.id()).collect();
        assert_eq!(set["keys"].as_array().unwrap().len(), 2);
        for (key, id) in set["keys"].as_array().unwrap().iter().zip(ids) {
            assert_eq!(key["kid"], id);
            assert_eq!((&key["kty"], &key["crv"]), (&json!("EC"), &json!("P-256")));
            assert_eq!((&key["use"], &key["alg"]), (&json!("sig"), &json!("ES256")));
            assert_eq!(key["x"].as_str().unwrap().len(), 43);
            assert_eq!(key["y"].as_str().unwrap().len(), 43);
        }
    }

    #[test]
    fn an_unreachable_issuer_has_no_documents() {
        let keys = ServiceAccountKeys::generate();
        let refused = |issuer: &str, uri: Option<&str>, address: &str| {
            Documents::new(issuer, uri, address, &keys).err().unwrap()
        };
        for issuer in [
            "api",
            "http://issuer",
            "https://issuer?a",
            "https://issuer#a",
        ] {
            assert!(refused(issuer, None, "a:1").ends_with(issuer), "{issuer}");
        }
        assert!(!refused("https://issuer", None, "").is_empty());
        assert!(!refused("https://issuer", Some("http://keys"), "").is_empty());
        let elsewhere = Documents::new("https://issuer", Some("https://keys"), "", &keys);
        let text = elsewhere.unwrap().configuration;
        assert!(text.windows(12).any(|part| part == b"https://keys"));
    }
}

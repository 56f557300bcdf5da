//! [`SigningKey`]: a private key.

use ring::{
    rand::SystemRandom,
    signature::{
        self, ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair,
        Ed25519KeyPair, KeyPair, RsaKeyPair,
    },
};

use crate::{
    Error,
    der::{self, Reader},
    encode, oid, pem,
};

/// A private key that signs: RSA, ECDSA on P-256 or P-384, or Ed25519.
///
/// ```
/// use kubewright_x509::SigningKey;
/// # let text = rcgen::KeyPair::generate().unwrap().serialize_pem();
///
/// let key = SigningKey::from_pem(text.as_bytes()).unwrap();
/// assert!(!key.sign(b"message").unwrap().is_empty());
/// assert!(SigningKey::from_pem(b"no key").is_err());
/// ```
pub struct SigningKey {
    pub(crate) pair: Pair,
    /// The public key, as a SubjectPublicKeyInfo.
    public_key: Vec<u8>,
}

pub(crate) enum Pair {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Rsa(RsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// Reads the first private key of a text, in any of the usual formats: PKCS#8, PKCS#1 for RSA, SEC 1 for ECDSA.
    ///
    /// # Errors
    ///
    /// Fails if there is none, it is encrypted, or its algorithm is not supported.
    pub fn from_pem(text: &[u8]) -> Result<Self, Error> {
        let keys = pem::blocks(text).find_map(|block| match block.label.as_str() {
            "PRIVATE KEY" => Some(Self::from_pkcs8(&block.contents)),
            "RSA PRIVATE KEY" => Some(Self::from_pkcs1(&block.contents)),
            "EC PRIVATE KEY" => Some(Self::from_sec1(&block.contents)),
            _ => None,
        });
        let none = "the text holds no block PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY";
        keys.unwrap_or_else(|| Err(Error::new(none)))
    }

    /// Reads a key in the format PKCS#8.
    ///
    /// # Errors
    ///
    /// Fails if it is malformed, or its algorithm is not supported.
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, Error> {
        let random = SystemRandom::new();
        let ecdsa = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, bytes, &random).ok();
        let pair = ecdsa(&ECDSA_P256_SHA256_ASN1_SIGNING)
            .map(Pair::P256)
            .or_else(|| ecdsa(&ECDSA_P384_SHA384_ASN1_SIGNING).map(Pair::P384))
            .or_else(|| RsaKeyPair::from_pkcs8(bytes).ok().map(Pair::Rsa))
            .or_else(|| {
                let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(bytes);
                pair.ok().map(Pair::Ed25519)
            });
        pair.map(Self::new).ok_or_else(unsupported)
    }

    fn from_pkcs1(bytes: &[u8]) -> Result<Self, Error> {
        let pair = RsaKeyPair::from_der(bytes).map_err(|_| unsupported())?;
        Ok(Self::new(Pair::Rsa(pair)))
    }

    /// Wraps the key as PKCS#8, which needs the curve outside of the key.
    fn from_sec1(bytes: &[u8]) -> Result<Self, Error> {
        let mut key = Reader::new(bytes).sequence("ecPrivateKey")?;
        key.small_integer()?;
        key.expect(der::OCTET_STRING, "")?;
        let curve = key.optional(der::CONTEXT, 0)?.ok_or_else(unsupported)?;
        let algorithm = encode::sequence(&[&encode::object_identifier(oid::EC), curve.content]);
        let wrapped = [
            &encode::unsigned(&[0])[..],
            &algorithm,
            &encode::octet_string(bytes),
        ];
        Self::from_pkcs8(&encode::sequence(&wrapped))
    }

    fn new(pair: Pair) -> Self {
        let ec = |curve: &[u8]| {
            let ec = encode::object_identifier(oid::EC);
            encode::sequence(&[&ec, &encode::object_identifier(curve)])
        };
        let (algorithm, key) = match &pair {
            Pair::P256(pair) => (ec(oid::P256), pair.public_key().as_ref()),
            Pair::P384(pair) => (ec(oid::P384), pair.public_key().as_ref()),
            Pair::Rsa(pair) => (
                encode::sequence(&[&encode::object_identifier(oid::RSA), &encode::null()]),
                pair.public_key().as_ref(),
            ),
            Pair::Ed25519(pair) => (
                encode::sequence(&[&encode::object_identifier(oid::ED25519)]),
                pair.public_key().as_ref(),
            ),
        };
        let public_key = encode::sequence(&[&algorithm, &encode::bit_string(key)]);
        Self { pair, public_key }
    }

    /// Returns the public key as a SubjectPublicKeyInfo.
    pub fn public_key_der(&self) -> &[u8] {
        &self.public_key
    }

    /// Returns the AlgorithmIdentifier of its signatures.
    pub(crate) fn algorithm(&self) -> Vec<u8> {
        let identifier = encode::object_identifier;
        match self.pair {
            Pair::P256(_) => encode::sequence(&[&identifier(oid::ECDSA_SHA256)]),
            Pair::P384(_) => encode::sequence(&[&identifier(oid::ECDSA_SHA384)]),
            Pair::Rsa(_) => encode::sequence(&[&identifier(oid::RSA_SHA256), &encode::null()]),
            Pair::Ed25519(_) => encode::sequence(&[&identifier(oid::ED25519)]),
        }
    }

    /// Signs a message: with SHA-256, or SHA-384 on P-384. Signatures of ECDSA are encoded as ASN.1.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let random = SystemRandom::new();
        let failed = |_| Error::new("the signature could not be computed");
        match &self.pair {
            Pair::P256(pair) | Pair::P384(pair) => {
                let signature = pair.sign(&random, message).map_err(failed)?;
                Ok(signature.as_ref().to_vec())
            }
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let padding = &signature::RSA_PKCS1_SHA256;
                pair.sign(padding, &random, message, &mut signature)
                    .map_err(failed)?;
                Ok(signature)
            }
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

/// Shows nothing of the key.
impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.pair {
            Pair::P256(_) => "SigningKey(ECDSA P-256)",
            Pair::P384(_) => "SigningKey(ECDSA P-384)",
            Pair::Rsa(_) => "SigningKey(RSA)",
            Pair::Ed25519(_) => "SigningKey(Ed25519)",
        })
    }
}

fn unsupported() -> Error {
    Error::new(
        "the private key is malformed or not supported: use RSA of 2048 to 4096 bits, ECDSA on P-256 or P-384, or Ed25519",
    )
}

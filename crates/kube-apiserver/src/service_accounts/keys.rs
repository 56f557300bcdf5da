//! [`ServiceAccountKeys`]: the key that signs service-account tokens, and those that verify them.

use std::{fmt, sync::Arc};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use kubewright_x509::{Certificate, KeyType, PublicKey, SigningKey as PrivateKey, pem};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{self, EcdsaKeyPair, UnparsedPublicKey, VerificationAlgorithm},
};
use thiserror::Error;

use super::jwt::Compact;

/// The keys of service-account tokens: one that signs, and any number that verify. Clones share them.
///
/// Tokens outlive the server that issued them if the next one has its keys:
///
/// ```
/// use kubewright_kube_apiserver::ServiceAccountKeys;
///
/// let old = ServiceAccountKeys::generate();
/// let kept = old.signing_key_pem().expect("a generated key can be saved");
/// let same = ServiceAccountKeys::from_pem(kept.as_bytes())?;
///
/// // Rotation: a new key signs, and tokens of the old one are still accepted.
/// let new = ServiceAccountKeys::generate().verify_with_pem(kept.as_bytes())?;
/// # let _ = (same, new);
/// # Ok::<_, kubewright_kube_apiserver::ServiceAccountKeyError>(())
/// ```
#[derive(Clone)]
pub struct ServiceAccountKeys {
    signing: Arc<SigningKey>,
    verification: Vec<Arc<VerificationKey>>,
}

/// A key that cannot be used for service-account tokens.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The private key cannot be read.
    #[error("cannot read the private key: {0}")]
    Private(String),
    /// A public key or certificate cannot be read.
    #[error("cannot read a public key: {0}")]
    Public(String),
    /// The text has no key.
    #[error(
        "the text has no key: expected PEM blocks PUBLIC KEY, CERTIFICATE, PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY"
    )]
    NoKey,
    /// The algorithm of a key is not supported.
    #[error("the key is not supported: use RSA, or ECDSA on P-256 or P-384")]
    Unsupported,
    /// A token could not be signed.
    #[error("the token could not be signed")]
    Signing,
}

/// An algorithm of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Algorithm {
    Es256,
    Es384,
    Rs256,
}

/// The key that signs.
pub(super) struct SigningKey {
    key: PrivateKey,
    public: Arc<VerificationKey>,
    /// The key as PKCS#8, if it was generated here.
    pkcs8: Option<Vec<u8>>,
}

/// A key that verifies signatures.
pub(super) struct VerificationKey {
    id: String,
    algorithm: Algorithm,
    public: PublicKey,
}

/// The reason why a signature is not accepted, in the words of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InvalidSignature {
    /// There is no key of that id.
    UnknownKey,
    /// The signature is not that of the key.
    Wrong,
}

impl ServiceAccountKeys {
    /// Generates a key on the curve P-256.
    ///
    /// # Panics
    ///
    /// Panics if the system has no random numbers.
    pub fn generate() -> Self {
        let algorithm = &signature::ECDSA_P256_SHA256_ASN1_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new());
        let pkcs8 = pkcs8
            .expect("the system has random numbers")
            .as_ref()
            .to_vec();
        let key = PrivateKey::from_pkcs8(&pkcs8).expect("it was generated above");
        Self::new(key, Some(pkcs8)).expect("P-256 is supported")
    }

    /// Reads the private key that signs from PEM: RSA of 2048 to 4096 bits, or ECDSA on P-256 or P-384. Its signatures
    /// are accepted too.
    ///
    /// # Errors
    ///
    /// Fails if there is no such key.
    pub fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        let key = PrivateKey::from_pem(text).map_err(|e| KeyError::Private(e.to_string()))?;
        Self::new(key, None)
    }

    fn new(key: PrivateKey, pkcs8: Option<Vec<u8>>) -> Result<Self, KeyError> {
        let public = Arc::new(VerificationKey::of_private(&key)?);
        let verification = vec![public.clone()];
        Ok(Self {
            signing: Arc::new(SigningKey { key, public, pkcs8 }),
            verification,
        })
    }

    /// Rejects the signatures of all keys, also of the one that signs, until [`verify_with_pem`](Self::verify_with_pem) adds
    /// some.
    ///
    /// ```
    /// use kubewright_kube_apiserver::ServiceAccountKeys;
    ///
    /// let other = ServiceAccountKeys::generate().signing_key_pem().expect("a generated key can be saved");
    /// // A server that issues tokens for others, and does not accept them itself.
    /// let keys = ServiceAccountKeys::generate().verify_with_none().verify_with_pem(other.as_bytes())?;
    /// # let _ = keys;
    /// # Ok::<_, kubewright_kube_apiserver::ServiceAccountKeyError>(())
    /// ```
    #[must_use]
    pub fn verify_with_none(mut self) -> Self {
        self.verification.clear();
        self
    }

    /// Accepts signatures of further keys: public keys, certificates, or private keys whose public part counts. The text
    /// may hold several.
    ///
    /// # Errors
    ///
    /// Fails if there is none, or one of them is not supported.
    pub fn verify_with_pem(mut self, text: &[u8]) -> Result<Self, KeyError> {
        let mut found = false;
        for block in pem::blocks(text) {
            let Some(key) = VerificationKey::of_block(&block)? else {
                continue;
            };
            found = true;
            if !self.verification.iter().any(|known| known.id == key.id) {
                self.verification.push(Arc::new(key));
            }
        }
        match found {
            true => Ok(self),
            false => Err(KeyError::NoKey),
        }
    }

    /// Returns the signing key as PEM, if it was generated by [`generate`](Self::generate). It is a secret.
    pub fn signing_key_pem(&self) -> Option<String> {
        let pkcs8 = self.signing.pkcs8.as_deref()?;
        Some(pem::encode("PRIVATE KEY", pkcs8))
    }

    pub(super) fn signing(&self) -> &SigningKey {
        &self.signing
    }

    pub(super) fn verification(&self) -> &[Arc<VerificationKey>] {
        &self.verification
    }

    /// Verifies the signature of a token with the key that its header names, or, if it names none, with all.
    pub(super) fn verify(&self, token: &Compact<'_>) -> Result<(), InvalidSignature> {
        let (Some(header), Some(signature)) = (token.header(), token.decoded_signature()) else {
            return Err(InvalidSignature::Wrong);
        };
        let named = header.kid.as_deref().unwrap_or_default();
        let is_named = |key: &&Arc<VerificationKey>| named.is_empty() || key.id == named;
        let mut keys = self.verification.iter().filter(is_named).peekable();
        if keys.peek().is_none() {
            return Err(InvalidSignature::UnknownKey);
        }
        // The key decides about the algorithm; a header that names another one is not to be believed.
        let Some(algorithm) = header.algorithm() else {
            return Err(InvalidSignature::Wrong);
        };
        let verifies = |key: &Arc<VerificationKey>| {
            key.algorithm == algorithm && key.verifies(token.signed.as_bytes(), &signature)
        };
        match keys.any(verifies) {
            true => Ok(()),
            false => Err(InvalidSignature::Wrong),
        }
    }
}

/// Shows nothing of the signing key.
impl fmt::Debug for ServiceAccountKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&str> = self.verification.iter().map(|key| key.id()).collect();
        f.debug_struct("ServiceAccountKeys")
            .field("ids", &ids)
            .finish_non_exhaustive()
    }
}

impl Algorithm {
    const ALL: [Self; 3] = [Self::Es256, Self::Es384, Self::Rs256];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    fn of_key(key: &PublicKey) -> Result<Self, KeyError> {
        match key.key_type() {
            KeyType::EcdsaP256 => Ok(Self::Es256),
            KeyType::EcdsaP384 => Ok(Self::Es384),
            KeyType::Rsa => Ok(Self::Rs256),
            _ => Err(KeyError::Unsupported),
        }
    }

    fn verifier(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            Self::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
            Self::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        }
    }
}

impl SigningKey {
    pub(super) fn public(&self) -> &VerificationKey {
        &self.public
    }

    /// Signs a message as a JSON Web Signature has it.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.key.sign_fixed(message).map_err(|_| KeyError::Signing)
    }
}

impl VerificationKey {
    fn new(public: PublicKey) -> Result<Self, KeyError> {
        Ok(Self {
            id: BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, public.der())),
            algorithm: Algorithm::of_key(&public)?,
            public,
        })
    }

    fn of_private(key: &PrivateKey) -> Result<Self, KeyError> {
        let public = PublicKey::from_der(key.public_key_der());
        Self::new(public.map_err(|e| KeyError::Private(e.to_string()))?)
    }

    /// Returns the key of a PEM block, or `None` if the block is something else.
    fn of_block(block: &pem::Block) -> Result<Option<Self>, KeyError> {
        let unreadable = |e: kubewright_x509::Error| KeyError::Public(e.to_string());
        let der = &block.contents;
        let public = match block.label.as_str() {
            "PUBLIC KEY" => PublicKey::from_der(der).map_err(unreadable)?,
            "CERTIFICATE" => {
                let certificate = Certificate::from_der(der).map_err(unreadable)?;
                certificate.public_key().clone()
            }
            label @ ("PRIVATE KEY" | "RSA PRIVATE KEY" | "EC PRIVATE KEY") => {
                let key = PrivateKey::from_pem(pem::encode(label, der).as_bytes());
                let key = key.map_err(|e| KeyError::Private(e.to_string()))?;
                return Self::of_private(&key).map(Some);
            }
            _ => return Ok(None),
        };
        Self::new(public).map(Some)
    }

    /// Returns the id of the key: a hash of its encoding.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(super) fn public(&self) -> &PublicKey {
        &self.public
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(self.algorithm.verifier(), self.public.key_bytes());
        key.verify(message, signature).is_ok()
    }
}

impl InvalidSignature {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::UnknownKey => "invalid signature, no keys found",
            Self::Wrong => "go-jose/go-jose: error in cryptographic primitive",
        }
    }
}

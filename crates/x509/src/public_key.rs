//! [`PublicKey`]: the key of a subject, and the verification of its signatures.

use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};

use crate::{
    Error,
    der::{self, Reader},
    encode, oid,
};

/// The fewest bits of an RSA key that Go verifies with.
const MIN_RSA_BITS: usize = 1024;

/// A public key with its algorithm.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    pub(crate) kind: Kind,
    /// The key as its algorithm encodes it.
    pub(crate) key: Vec<u8>,
    /// The SubjectPublicKeyInfo.
    der: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rsa,
    Ecdsa(Curve),
    Ed25519,
    /// A key that cannot sign, or an algorithm that is not known.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    /// A curve that cannot be computed with here.
    Other,
}

/// The algorithm of a signature: an identifier with its parameters.
#[derive(Clone, Copy)]
pub(crate) struct Algorithm<'a> {
    pub(crate) oid: &'a [u8],
    /// The encoded parameters; empty if there are none.
    pub(crate) parameters: &'a [u8],
}

impl<'a> Algorithm<'a> {
    /// Reads an AlgorithmIdentifier.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut algorithm = reader.sequence("AlgorithmIdentifier")?;
        let oid = algorithm.object_identifier()?;
        let parameters = match algorithm.is_empty() {
            true => &[][..],
            false => algorithm.any()?.whole,
        };
        Ok(Self { oid, parameters })
    }
}

impl PublicKey {
    /// Returns the key as a SubjectPublicKeyInfo.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Reads a SubjectPublicKeyInfo.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let info = reader.expect(der::SEQUENCE, "publicKeyInfo")?;
        let mut parts = Reader::new(info.content);
        let algorithm = Algorithm::read(&mut parts)?;
        let key = parts.bytes_of_bits()?;
        Ok(Self {
            kind: kind(&algorithm, key)?,
            key: key.to_vec(),
            der: info.whole.to_vec(),
        })
    }

    /// Verifies a signature of the owner of the key. SHA-1 is accepted, as Go does for certificate requests.
    pub(crate) fn verify(
        &self,
        algorithm: &Algorithm<'_>,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let unsupported = || Error::new("x509: cannot verify signature: algorithm unimplemented");
        let signed_with = Signature::of(algorithm).ok_or_else(unsupported)?;
        if signed_with == Signature::Insecure {
            let text = "x509: cannot verify signature: insecure algorithm MD5-RSA";
            return Err(Error::new(text));
        }
        let verifier = signed_with.verifier(self.kind)?.ok_or_else(unsupported)?;
        if self.kind == Kind::Rsa {
            check_rsa_size(&self.key)?;
        }
        let key = UnparsedPublicKey::new(verifier, &self.key);
        key.verify(message, signature).map_err(|_| {
            Error::new(match self.kind {
                Kind::Rsa => "crypto/rsa: verification error",
                Kind::Ed25519 => "x509: Ed25519 verification failure",
                _ => "x509: ECDSA verification failure",
            })
        })
    }
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({:?})", self.kind)
    }
}

fn kind(algorithm: &Algorithm<'_>, key: &[u8]) -> Result<Kind, Error> {
    match algorithm.oid {
        oid::RSA if algorithm.parameters != encode::null() => {
            Err(Error::new("x509: RSA key missing NULL parameters"))
        }
        oid::RSA => rsa_modulus(key).map(|_| Kind::Rsa),
        oid::EC => {
            let invalid = |_| Error::new("x509: invalid ECDSA parameters");
            let mut parameters = Reader::new(algorithm.parameters);
            let curve = match parameters.object_identifier().map_err(invalid)? {
                oid::P256 => Curve::P256,
                oid::P384 => Curve::P384,
                oid::P224 | oid::P521 => Curve::Other,
                _ => return Err(Error::new("x509: unsupported elliptic curve")),
            };
            Ok(Kind::Ecdsa(curve))
        }
        oid::ED25519 | oid::X25519 if !algorithm.parameters.is_empty() => {
            let name = match algorithm.oid {
                oid::ED25519 => "Ed25519",
                _ => "X25519",
            };
            let text = format!("x509: {name} key encoded with illegal parameters");
            Err(Error::new(text))
        }
        oid::ED25519 if key.len() != 32 => Err(Error::new("x509: wrong Ed25519 public key size")),
        oid::ED25519 => Ok(Kind::Ed25519),
        // X25519 and DSA keys are accepted where nothing has to be verified with them.
        _ => Ok(Kind::Other),
    }
}

/// Returns the modulus of an RSA key, without leading zeros.
fn rsa_modulus(key: &[u8]) -> Result<&[u8], Error> {
    let invalid = |what: &str| Error::new(format!("x509: invalid RSA {what}"));
    let mut parts = Reader::new(key)
        .sequence("")
        .map_err(|_| invalid("public key"))?;
    let modulus = parts.integer().map_err(|_| invalid("modulus"))?;
    let exponent = parts
        .small_integer()
        .map_err(|_| invalid("public exponent"))?;
    let positive = modulus.first().is_some_and(|byte| byte & 0x80 == 0) && modulus != [0];
    if !positive {
        return Err(Error::new("x509: RSA modulus is not a positive number"));
    }
    if exponent <= 0 {
        return Err(Error::new(
            "x509: RSA public exponent is not a positive number",
        ));
    }
    Ok(modulus.strip_prefix(&[0]).unwrap_or(modulus))
}

fn check_rsa_size(key: &[u8]) -> Result<(), Error> {
    let modulus = rsa_modulus(key)?;
    let unused = modulus
        .first()
        .map_or(0, |byte| byte.leading_zeros() as usize);
    let bits = modulus.len() * 8 - unused;
    if bits >= MIN_RSA_BITS {
        return Ok(());
    }
    Err(Error::new(format!(
        "crypto/rsa: {bits}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)"
    )))
}

/// The algorithm of a signature.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signature {
    Rsa(Digest),
    RsaPss(Digest),
    Ecdsa(Digest),
    Ed25519,
    /// One that Go refuses.
    Insecure,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Digest {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Signature {
    fn of(algorithm: &Algorithm<'_>) -> Option<Self> {
        Some(match algorithm.oid {
            oid::RSA_MD5 => Self::Insecure,
            oid::RSA_SHA1 | oid::RSA_SHA1_ISO => Self::Rsa(Digest::Sha1),
            oid::RSA_SHA256 => Self::Rsa(Digest::Sha256),
            oid::RSA_SHA384 => Self::Rsa(Digest::Sha384),
            oid::RSA_SHA512 => Self::Rsa(Digest::Sha512),
            oid::RSA_PSS => Self::RsaPss(pss_digest(algorithm.parameters)?),
            oid::ECDSA_SHA1 => Self::Ecdsa(Digest::Sha1),
            oid::ECDSA_SHA256 => Self::Ecdsa(Digest::Sha256),
            oid::ECDSA_SHA384 => Self::Ecdsa(Digest::Sha384),
            oid::ECDSA_SHA512 => Self::Ecdsa(Digest::Sha512),
            oid::ED25519 if algorithm.parameters.is_empty() => Self::Ed25519,
            _ => return None,
        })
    }

    /// Returns the verifier for a key, or `None` if there is none. A key of another algorithm is an error.
    fn verifier(self, key: Kind) -> Result<Option<&'static dyn VerificationAlgorithm>, Error> {
        use Digest::{Sha1, Sha256, Sha384, Sha512};
        Ok(match (self, key) {
            (_, Kind::Other) => None,
            (Self::Rsa(digest), Kind::Rsa) => Some(match digest {
                Sha1 => &signature::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY,
                Sha256 => &signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
                Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                Sha512 => &signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
            }),
            (Self::RsaPss(digest), Kind::Rsa) => match digest {
                Sha1 => None,
                Sha256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
                Sha384 => Some(&signature::RSA_PSS_2048_8192_SHA384),
                Sha512 => Some(&signature::RSA_PSS_2048_8192_SHA512),
            },
            (Self::Ecdsa(digest), Kind::Ecdsa(curve)) => match (curve, digest) {
                (Curve::P256, Sha256) => Some(&signature::ECDSA_P256_SHA256_ASN1),
                (Curve::P256, Sha384) => Some(&signature::ECDSA_P256_SHA384_ASN1),
                (Curve::P384, Sha256) => Some(&signature::ECDSA_P384_SHA256_ASN1),
                (Curve::P384, Sha384) => Some(&signature::ECDSA_P384_SHA384_ASN1),
                _ => None,
            },
            (Self::Ed25519, Kind::Ed25519) => Some(&signature::ED25519),
            (signature, key) => return Err(mismatch(signature, key)),
        })
    }
}

fn mismatch(signature: Signature, key: Kind) -> Error {
    let wanted = match signature {
        Signature::Ecdsa(_) => "ECDSA",
        Signature::Ed25519 => "Ed25519",
        _ => "RSA",
    };
    let found = match key {
        Kind::Rsa => "*rsa.PublicKey",
        Kind::Ecdsa(_) => "*ecdsa.PublicKey",
        Kind::Ed25519 | Kind::Other => "ed25519.PublicKey",
    };
    Error::new(format!(
        "x509: signature algorithm specifies an {wanted} public key, but have public key of type {found}"
    ))
}

/// Returns the digest of RSA-PSS parameters, if mask and salt are those of the same digest.
fn pss_digest(parameters: &[u8]) -> Option<Digest> {
    let mut parameters = Reader::new(parameters).sequence("").ok()?;
    let mut tagged = |tag| Some(parameters.optional(der::CONTEXT, tag).ok()??.content);
    let (hash, mask, salt) = (tagged(0)?, tagged(1)?, tagged(2)?);
    let plain = |algorithm: &Algorithm<'_>| {
        algorithm.parameters.is_empty() || algorithm.parameters == encode::null()
    };
    let hash = Algorithm::read(&mut Reader::new(hash)).ok().filter(plain)?;
    let mask = Algorithm::read(&mut Reader::new(mask)).ok()?;
    let mask_hash = Algorithm::read(&mut Reader::new(mask.parameters)).ok()?;
    if mask.oid != oid::MGF1 || mask_hash.oid != hash.oid || !plain(&mask_hash) {
        return None;
    }
    match (hash.oid, Reader::new(salt).small_integer().ok()?) {
        (oid::SHA256, 32) => Some(Digest::Sha256),
        (oid::SHA384, 48) => Some(Digest::Sha384),
        (oid::SHA512, 64) => Some(Digest::Sha512),
        _ => None,
    }
}

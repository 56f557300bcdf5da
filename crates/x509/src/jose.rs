//! Keys as JSON Web Signatures use them: the numbers of public keys, and signatures of a fixed length.

use crate::{
    Error, PublicKey, SigningKey,
    der::Reader,
    public_key::{Curve, Kind},
    signing_key::Pair,
};

/// The algorithm of a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyType {
    /// RSA.
    Rsa,
    /// ECDSA on the curve P-256.
    EcdsaP256,
    /// ECDSA on the curve P-384.
    EcdsaP384,
    /// Ed25519.
    Ed25519,
    /// Another algorithm or curve.
    Other,
}

impl PublicKey {
    /// Reads a SubjectPublicKeyInfo.
    ///
    /// ```
    /// use kubewright_x509::{KeyType, PublicKey, SigningKey};
    /// # let text = rcgen::KeyPair::generate().unwrap().serialize_pem();
    ///
    /// let key = SigningKey::from_pem(text.as_bytes()).unwrap();
    /// let public = PublicKey::from_der(key.public_key_der()).unwrap();
    /// assert_eq!(public.key_type(), KeyType::EcdsaP256);
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if it is malformed, or followed by something else.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let key = Self::read(&mut reader)?;
        match reader.is_empty() {
            true => Ok(key),
            false => Err(Error::new("x509: trailing data after ASN.1 of public-key")),
        }
    }

    /// Returns the algorithm.
    pub fn key_type(&self) -> KeyType {
        match self.kind {
            Kind::Rsa => KeyType::Rsa,
            Kind::Ecdsa(Curve::P256) => KeyType::EcdsaP256,
            Kind::Ecdsa(Curve::P384) => KeyType::EcdsaP384,
            Kind::Ed25519 => KeyType::Ed25519,
            _ => KeyType::Other,
        }
    }

    /// Returns the key as its algorithm encodes it: a point of a curve, or an RSAPublicKey.
    pub fn key_bytes(&self) -> &[u8] {
        &self.key
    }

    /// Returns the modulus and the exponent of an RSA key, without leading zeros.
    pub fn rsa_numbers(&self) -> Option<(&[u8], &[u8])> {
        if self.kind != Kind::Rsa {
            return None;
        }
        let mut numbers = Reader::new(&self.key).sequence("").ok()?;
        let modulus = numbers.integer().ok()?;
        let exponent = numbers.integer().ok()?;
        Some((positive(modulus), positive(exponent)))
    }
}

impl SigningKey {
    /// Signs a message: with SHA-256, or SHA-384 on P-384. Signatures of ECDSA are two numbers of a fixed length, one after
    /// the other.
    ///
    /// ```
    /// use kubewright_x509::SigningKey;
    /// # let text = rcgen::KeyPair::generate().unwrap().serialize_pem();
    ///
    /// let key = SigningKey::from_pem(text.as_bytes()).unwrap();
    /// assert_eq!(key.sign_fixed(b"message").unwrap().len(), 64);
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub fn sign_fixed(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature = self.sign(message)?;
        let length = match self.pair {
            Pair::P256(_) => 32,
            Pair::P384(_) => 48,
            Pair::Rsa(_) | Pair::Ed25519(_) => return Ok(signature),
        };
        let mut numbers = Reader::new(&signature).sequence("")?;
        let mut fixed = Vec::with_capacity(2 * length);
        for _ in 0..2 {
            let number = positive(numbers.integer()?);
            let zeros = length
                .checked_sub(number.len())
                .ok_or_else(|| Error::new("the signature is too long"))?;
            fixed.extend(std::iter::repeat_n(0, zeros));
            fixed.extend(number);
        }
        Ok(fixed)
    }
}

/// Returns the bytes of a positive number without leading zeros.
fn positive(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384};
    use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};

    use super::*;

    #[test]
    fn signatures_of_a_fixed_length_verify() {
        let cases: [(_, &dyn VerificationAlgorithm, _); 2] = [
            (
                &PKCS_ECDSA_P256_SHA256,
                &signature::ECDSA_P256_SHA256_FIXED,
                KeyType::EcdsaP256,
            ),
            (
                &PKCS_ECDSA_P384_SHA384,
                &signature::ECDSA_P384_SHA384_FIXED,
                KeyType::EcdsaP384,
            ),
        ];
        for (algorithm, verifier, key_type) in cases {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let key = SigningKey::from_pem(key.serialize_pem().as_bytes()).unwrap();
            let public = PublicKey::from_der(key.public_key_der()).unwrap();
            assert_eq!(public.key_type(), key_type);
            assert_eq!(public.rsa_numbers(), None);
            let verifier = UnparsedPublicKey::new(verifier, public.key_bytes());
            // Enough of them that some have numbers with leading zeros.
            for n in 0..600_u32 {
                let message = n.to_le_bytes();
                let signature = key.sign_fixed(&message).unwrap();
                verifier.verify(&message, &signature).unwrap();
            }
        }
    }

    #[test]
    fn the_numbers_of_an_rsa_key_have_no_leading_zeros() {
        let rsa = include_bytes!("../tests/it/fixtures/rsa.key.pem");
        let key = SigningKey::from_pem(rsa).unwrap();
        let public = PublicKey::from_der(key.public_key_der()).unwrap();
        let (modulus, exponent) = public.rsa_numbers().unwrap();
        assert_eq!((modulus.len(), exponent), (256, &[1, 0, 1][..]));
        assert_eq!(key.sign_fixed(b"message").unwrap().len(), 256);
    }

    #[test]
    fn a_key_with_something_after_it_is_an_error() {
        let key = KeyPair::generate().unwrap();
        let key = SigningKey::from_pem(key.serialize_pem().as_bytes()).unwrap();
        let mut der = key.public_key_der().to_vec();
        der.push(0);
        assert!(PublicKey::from_der(&der).is_err());
        assert!(PublicKey::from_der(&[]).is_err());
    }
}

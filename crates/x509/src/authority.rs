//! [`Authority`]: issues certificates.

use std::sync::Arc;

use ring::rand::{SecureRandom, SystemRandom};

use crate::{
    AltNames, Certificate, CertificateRequest, Error, ExtendedKeyUsage, KeyUsage, Name, PublicKey,
    SigningKey, Validity, encode, oid, time,
};

/// A certificate authority: a certificate and its private key. Clones share the key.
///
/// See the [crate documentation](crate) for an example.
#[derive(Clone, Debug)]
pub struct Authority {
    certificate: Certificate,
    key: Arc<SigningKey>,
}

/// The contents of a certificate to issue. Issued certificates are never authorities themselves.
#[derive(Clone, Debug)]
pub struct Template<'a> {
    /// The name of the subject.
    pub subject: &'a Name,
    /// The alternative names of the subject.
    pub alt_names: &'a AltNames,
    /// The key of the subject.
    pub public_key: &'a PublicKey,
    /// The time in which the certificate is valid.
    pub validity: Validity,
    /// The purposes of the key.
    pub key_usage: KeyUsage,
    /// The purposes of the certificate.
    pub extended_key_usages: Vec<ExtendedKeyUsage>,
}

impl<'a> Template<'a> {
    /// Returns a template of a request's subject, names and key, without usages. Other extensions that the request asks
    /// for are ignored.
    pub fn for_request(request: &'a CertificateRequest, validity: Validity) -> Self {
        Self {
            subject: request.subject(),
            alt_names: request.alt_names(),
            public_key: request.public_key(),
            validity,
            key_usage: KeyUsage::default(),
            extended_key_usages: Vec::new(),
        }
    }
}

impl Authority {
    /// Returns an authority of a certificate and its private key.
    ///
    /// # Errors
    ///
    /// Fails if the key is not that of the certificate.
    pub fn new(certificate: Certificate, key: SigningKey) -> Result<Self, Error> {
        if certificate.public_key().der() != key.public_key_der() {
            let text = "x509: provided PrivateKey doesn't match parent's PublicKey";
            return Err(Error::new(text));
        }
        let key = Arc::new(key);
        Ok(Self { certificate, key })
    }

    /// Reads a certificate and its private key from PEM.
    ///
    /// # Errors
    ///
    /// Fails if one of them cannot be read, or the key is not that of the certificate.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, Error> {
        Self::new(
            Certificate::from_pem(certificate)?,
            SigningKey::from_pem(key)?,
        )
    }

    /// Returns the certificate of the authority.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Issues a certificate with a random serial number.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub fn issue(&self, template: &Template<'_>) -> Result<Certificate, Error> {
        let mut serial = [0; 16];
        let random = SystemRandom::new();
        random
            .fill(&mut serial)
            .map_err(|_| Error::new("the system has no random numbers"))?;
        let algorithm = self.key.algorithm();
        let subject = template.subject.encode();
        let validity = encode::sequence(&[
            &time::encode(template.validity.not_before),
            &time::encode(template.validity.not_after),
        ]);
        let extensions = self.extensions(template, &subject);
        let extensions: Vec<&[u8]> = extensions.iter().map(Vec::as_slice).collect();
        let signed = encode::sequence(&[
            // Version 3.
            &encode::explicit(0, &encode::unsigned(&[2])),
            &encode::unsigned(&serial),
            &algorithm,
            &self.certificate.subject_der,
            &validity,
            &subject,
            template.public_key.der(),
            &encode::explicit(3, &encode::sequence(&extensions)),
        ]);
        let signature = encode::bit_string(&self.key.sign(&signed)?);
        let der = encode::sequence(&[&signed, &algorithm, &signature]);
        Certificate::from_der(&der)
    }

    fn extensions(&self, template: &Template<'_>, subject: &[u8]) -> Vec<Vec<u8>> {
        let mut extensions = Vec::new();
        if !template.key_usage.is_empty() {
            let (bytes, unused) = template.key_usage.bits();
            extensions.push(extension(
                oid::KEY_USAGE,
                true,
                &encode::bits(&bytes, unused),
            ));
        }
        if !template.extended_key_usages.is_empty() {
            let usages = template.extended_key_usages.iter();
            let usages: Vec<u8> = usages
                .flat_map(|usage| encode::object_identifier(usage.oid()))
                .collect();
            let value = encode::sequence(&[&usages]);
            extensions.push(extension(oid::EXTENDED_KEY_USAGE, false, &value));
        }
        let not_an_authority = encode::sequence(&[]);
        extensions.push(extension(oid::BASIC_CONSTRAINTS, true, &not_an_authority));
        let id = &self.certificate.key_id;
        if !id.is_empty() && subject != self.certificate.subject_der {
            let value = encode::sequence(&[&encode::context(0, id)]);
            extensions.push(extension(oid::AUTHORITY_KEY_ID, false, &value));
        }
        if !template.alt_names.is_empty() {
            let critical = subject == encode::sequence(&[]);
            let value = template.alt_names.encode();
            extensions.push(extension(oid::SUBJECT_ALT_NAME, critical, &value));
        }
        extensions
    }
}

fn extension(oid: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let critical = match critical {
        true => encode::boolean(true),
        false => Vec::new(),
    };
    encode::sequence(&[
        &encode::object_identifier(oid),
        &critical,
        &encode::octet_string(value),
    ])
}

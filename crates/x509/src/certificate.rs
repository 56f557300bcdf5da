//! [`Certificate`]: an X.509 certificate.

use std::collections::BTreeSet;

use crate::{
    AltNames, Error, ExtendedKeyUsage, Name, PublicKey,
    der::{self, Reader},
    oid, pem,
    public_key::Algorithm,
    time,
};

/// The label of a certificate in PEM.
pub(crate) const LABEL: &str = "CERTIFICATE";

/// The time in which a certificate is valid, in seconds since 1970; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first second.
    pub not_before: i64,
    /// The last second.
    pub not_after: i64,
}

/// An X.509 certificate.
///
/// ```
/// use kubewright_x509::Certificate;
/// # let key = rcgen::KeyPair::generate().unwrap();
/// # let mut params = rcgen::CertificateParams::default();
/// # params.distinguished_name.push(rcgen::DnType::CommonName, "ca");
/// # let text = params.self_signed(&key).unwrap().pem();
///
/// let certificate = Certificate::from_pem(text.as_bytes()).unwrap();
/// assert_eq!(certificate.subject().common_name(), "ca");
/// assert_eq!(certificate.to_pem(), text.replace("\r\n", "\n"));
/// ```
#[derive(Clone, Debug)]
pub struct Certificate {
    der: Vec<u8>,
    subject: Name,
    /// The encoded subject, which is the issuer of certificates that it signs.
    pub(crate) subject_der: Vec<u8>,
    issuer: Name,
    validity: Validity,
    public_key: PublicKey,
    alt_names: AltNames,
    extended_key_usages: Vec<ExtendedKeyUsage>,
    /// Whether its purposes are limited, possibly to some that are not known.
    is_limited: bool,
    is_ca: bool,
    pub(crate) key_id: Vec<u8>,
}

impl Certificate {
    /// Reads the first certificate of a text.
    ///
    /// # Errors
    ///
    /// Fails if there is none, or it is malformed.
    pub fn from_pem(text: &[u8]) -> Result<Self, Error> {
        match pem::blocks(text).find(|block| block.label == LABEL) {
            Some(block) => Self::from_der(&block.contents),
            None => Err(Error::new("the text holds no CERTIFICATE block")),
        }
    }

    /// Reads the DER encoding.
    ///
    /// # Errors
    ///
    /// Fails if it is malformed, or followed by something else.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        let (certificate, rest) = Self::read(bytes)?;
        match rest.is_empty() {
            true => Ok(certificate),
            false => Err(Error::new("x509: trailing data")),
        }
    }

    /// Reads certificates that follow one another.
    ///
    /// # Errors
    ///
    /// Fails if one is malformed.
    pub fn all_from_der(mut bytes: &[u8]) -> Result<Vec<Self>, Error> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let (certificate, rest) = Self::read(bytes)?;
            all.push(certificate);
            bytes = rest;
        }
        Ok(all)
    }

    /// Returns the DER encoding.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Returns the PEM encoding.
    pub fn to_pem(&self) -> String {
        pem::encode(LABEL, &self.der)
    }

    /// Returns the name of the subject.
    pub fn subject(&self) -> &Name {
        &self.subject
    }

    /// Returns the name of the authority that issued it.
    pub fn issuer(&self) -> &Name {
        &self.issuer
    }

    /// Returns the time in which it is valid.
    pub fn validity(&self) -> Validity {
        self.validity
    }

    /// Returns the key of the subject.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// Returns the alternative names of the subject.
    pub fn alt_names(&self) -> &AltNames {
        &self.alt_names
    }

    /// Returns the purposes that are known, in order.
    pub fn extended_key_usages(&self) -> &[ExtendedKeyUsage] {
        &self.extended_key_usages
    }

    /// Returns whether it may be used for a purpose: without limits, it may be used for any.
    pub fn allows(&self, usage: ExtendedKeyUsage) -> bool {
        let known = &self.extended_key_usages;
        !self.is_limited || known.contains(&usage) || known.contains(&ExtendedKeyUsage::Any)
    }

    /// Returns whether it is valid at a time, in seconds since 1970.
    pub fn is_valid_at(&self, second: i64) -> bool {
        (self.validity.not_before..=self.validity.not_after).contains(&second)
    }

    /// Returns whether the subject is a certificate authority.
    pub fn is_ca(&self) -> bool {
        self.is_ca
    }

    fn read(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let malformed = |what: &str| {
            let text = format!("x509: malformed {what}");
            move |_: Error| Error::new(text)
        };
        let mut all = Reader::new(bytes);
        let whole = all
            .expect(der::SEQUENCE, "")
            .map_err(malformed("certificate"))?;
        let rest = bytes.get(whole.whole.len()..).unwrap_or_default();
        let mut outer = Reader::new(whole.content);
        let mut tbs = outer.sequence("").map_err(malformed("tbs certificate"))?;
        let version = version(&mut tbs).map_err(malformed("version"))?;
        if version > 2 {
            return Err(Error::new("x509: invalid version"));
        }
        let serial = tbs.integer().map_err(malformed("serial number"))?;
        if serial.first().is_some_and(|byte| byte & 0x80 != 0) {
            return Err(Error::new("x509: negative serial number"));
        }
        let inner = tbs
            .expect(der::SEQUENCE, "")
            .map_err(malformed("signature algorithm identifier"))?;
        let signed_with = outer
            .expect(der::SEQUENCE, "")
            .map_err(malformed("algorithm identifier"))?;
        if inner.content != signed_with.content {
            let text = "x509: inner and outer signature algorithm identifiers don't match";
            return Err(Error::new(text));
        }
        Algorithm::read(&mut Reader::new(inner.whole))?;
        let issuer = tbs.expect(der::SEQUENCE, "").map_err(malformed("issuer"))?;
        let issuer = name(issuer.whole)?;
        let mut validity = tbs.sequence("").map_err(malformed("validity"))?;
        let validity = Validity {
            not_before: time::read(&mut validity)?,
            not_after: time::read(&mut validity)?,
        };
        // Go says issuer here, too.
        let subject = tbs.expect(der::SEQUENCE, "").map_err(malformed("issuer"))?;
        let key = tbs.expect(der::SEQUENCE, "").map_err(malformed("spki"))?;
        let mut certificate = Self {
            der: whole.whole.to_vec(),
            subject: name(subject.whole)?,
            subject_der: subject.whole.to_vec(),
            issuer,
            validity,
            public_key: PublicKey::read(&mut Reader::new(key.whole))?,
            alt_names: AltNames::default(),
            extended_key_usages: Vec::new(),
            is_limited: false,
            is_ca: false,
            key_id: Vec::new(),
        };
        if version == 2 {
            certificate.read_extensions(&mut tbs)?;
        }
        outer.bytes_of_bits().map_err(malformed("signature"))?;
        Ok((certificate, rest))
    }

    fn read_extensions(&mut self, tbs: &mut Reader<'_>) -> Result<(), Error> {
        let malformed = |_| Error::new("x509: malformed extensions");
        for unique_id in [1, 2] {
            tbs.optional(der::CONTEXT, unique_id).map_err(malformed)?;
        }
        let Some(extensions) = tbs.optional(der::CONTEXT, 3).map_err(malformed)? else {
            return Ok(());
        };
        let mut seen = BTreeSet::new();
        for extension in Extension::read_all(&mut Reader::new(extensions.content))? {
            if !seen.insert(extension.oid) {
                let oid = oid::dotted(extension.oid)?;
                let text =
                    format!("x509: certificate contains duplicate extension with OID \"{oid}\"");
                return Err(Error::new(text));
            }
            match extension.oid {
                oid::SUBJECT_ALT_NAME => self.alt_names = AltNames::read(extension.value)?,
                oid::BASIC_CONSTRAINTS => self.is_ca = is_ca(extension.value)?,
                oid::EXTENDED_KEY_USAGE => {
                    self.is_limited = true;
                    self.extended_key_usages = purposes(extension.value)?;
                }
                oid::SUBJECT_KEY_ID => self.key_id = key_id(extension.value)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// An extension of a certificate, or one that a request asks for.
pub(crate) struct Extension<'a> {
    pub(crate) oid: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl<'a> Extension<'a> {
    /// Reads a sequence of extensions.
    pub(crate) fn read_all(reader: &mut Reader<'a>) -> Result<Vec<Self>, Error> {
        let mut list = reader.sequence("")?;
        let mut extensions = Vec::new();
        while !list.is_empty() {
            let mut extension = list.item(der::SEQUENCE)?;
            let oid = extension.object_identifier()?;
            let critical = extension.optional(der::UNIVERSAL, der::BOOLEAN)?;
            if critical.is_some_and(|value| !matches!(value.content, [0] | [0xff])) {
                return Err(Error::syntax("invalid boolean"));
            }
            let value = extension.expect(der::OCTET_STRING, "")?.content;
            extensions.push(Self { oid, value });
        }
        Ok(extensions)
    }
}

/// Returns the version, which counts from 0.
fn version(tbs: &mut Reader<'_>) -> Result<i64, Error> {
    let Some(version) = tbs.optional(der::CONTEXT, 0)? else {
        return Ok(0);
    };
    match Reader::new(version.content).small_integer()? {
        negative @ ..0 => Err(Error::structure(negative)),
        version => Ok(version),
    }
}

fn name(bytes: &[u8]) -> Result<Name, Error> {
    let invalid = |error| Error::new(format!("x509: invalid RDNSequence: {error}"));
    let name = Name::read(&mut Reader::new(bytes)).map_err(invalid)?;
    // A request may have values that are no text, a certificate may not.
    match name.attributes().iter().all(|a| a.value.is_some()) {
        true => Ok(name),
        false => Err(Error::new(
            "x509: invalid RDNSequence: invalid attribute value: unsupported string type",
        )),
    }
}

fn is_ca(value: &[u8]) -> Result<bool, Error> {
    let invalid = |_| Error::new("x509: invalid basic constraints");
    let mut constraints = Reader::new(value).sequence("").map_err(invalid)?;
    let ca = constraints.optional(der::UNIVERSAL, der::BOOLEAN);
    Ok(ca.map_err(invalid)?.is_some_and(|ca| ca.content == [0xff]))
}

fn purposes(value: &[u8]) -> Result<Vec<ExtendedKeyUsage>, Error> {
    let invalid = |_| Error::new("x509: invalid extended key usages");
    let mut list = Reader::new(value).sequence("").map_err(invalid)?;
    let mut purposes = Vec::new();
    while !list.is_empty() {
        let oid = list.object_identifier().map_err(invalid)?;
        purposes.extend(ExtendedKeyUsage::of(oid));
    }
    Ok(purposes)
}

fn key_id(value: &[u8]) -> Result<Vec<u8>, Error> {
    let invalid = |_| Error::new("x509: invalid subject key identifier");
    let id = Reader::new(value).expect(der::OCTET_STRING, "");
    Ok(id.map_err(invalid)?.content.to_vec())
}

//! [`CertificateRequest`]: a PKCS#10 request.

use std::collections::BTreeSet;

use crate::{
    AltNames, Error, Name, PublicKey,
    certificate::Extension,
    der::{self, Reader},
    oid, pem,
    public_key::Algorithm,
};

/// The label of a request in PEM.
const LABEL: &str = "CERTIFICATE REQUEST";

/// A request for a certificate (PKCS#10).
///
/// ```
/// use kubewright_x509::CertificateRequest;
/// # let key = rcgen::KeyPair::generate().unwrap();
/// # let mut params = rcgen::CertificateParams::default();
/// # params.distinguished_name.push(rcgen::DnType::CommonName, "alice");
/// # let text = params.serialize_request(&key).unwrap().pem().unwrap();
///
/// let request = CertificateRequest::from_pem(text.as_bytes()).unwrap();
/// request.verify().unwrap();
/// assert_eq!(request.subject().common_name(), "alice");
///
/// let error = CertificateRequest::from_pem(b"alice").unwrap_err();
/// assert_eq!(error.to_string(), "PEM block type must be CERTIFICATE REQUEST");
/// ```
#[derive(Clone, Debug)]
pub struct CertificateRequest {
    subject: Name,
    alt_names: AltNames,
    public_key: PublicKey,
    /// The signed bytes.
    signed: Vec<u8>,
    /// The identifier and the parameters of the algorithm of the signature.
    algorithm: (Vec<u8>, Vec<u8>),
    signature: Vec<u8>,
}

impl CertificateRequest {
    /// Reads the first PEM block of a text.
    ///
    /// # Errors
    ///
    /// Fails if there is no block, or it is not a request.
    pub fn from_pem(text: &[u8]) -> Result<Self, Error> {
        match pem::blocks(text).next() {
            Some(block) if block.label == LABEL => Self::from_der(&block.contents),
            _ => Err(Error::new("PEM block type must be CERTIFICATE REQUEST")),
        }
    }

    /// Reads the DER encoding.
    ///
    /// # Errors
    ///
    /// Fails if it is malformed. The signature is not verified.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        let mut all = Reader::new(bytes);
        let mut request = all.sequence("certificateRequest")?;
        let signed = request.expect(der::SEQUENCE, "tbsCertificateRequest")?;
        let mut info = Reader::new(signed.content);
        info.small_integer()?;
        let subject = info.any()?;
        let public_key = info.expect(der::SEQUENCE, "publicKeyInfo")?;
        let attributes = attributes(&mut info)?;
        let algorithm = Algorithm::read(&mut request)?;
        let signature = request.bytes_of_bits()?;
        all.end()?;

        let public_key = PublicKey::read(&mut Reader::new(public_key.whole))?;
        let subject = Name::read(&mut Reader::new(subject.whole))?;
        let alt_names = alt_names(attributes)?;
        Ok(Self {
            subject,
            alt_names,
            public_key,
            signed: signed.whole.to_vec(),
            algorithm: (algorithm.oid.to_vec(), algorithm.parameters.to_vec()),
            signature: signature.to_vec(),
        })
    }

    /// Verifies that the request was signed with the key that it is for.
    ///
    /// # Errors
    ///
    /// Fails if the signature is wrong, or of an algorithm that is not supported: ECDSA on P-224 and P-521 is not.
    pub fn verify(&self) -> Result<(), Error> {
        let (oid, parameters) = &self.algorithm;
        let algorithm = Algorithm { oid, parameters };
        self.public_key
            .verify(&algorithm, &self.signed, &self.signature)
    }

    /// Returns the name of the subject.
    pub fn subject(&self) -> &Name {
        &self.subject
    }

    /// Returns the alternative names that are asked for.
    pub fn alt_names(&self) -> &AltNames {
        &self.alt_names
    }

    /// Returns the public key of the requested certificate.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }
}

/// Returns the attributes, which are required even if there are none.
fn attributes<'a>(info: &mut Reader<'a>) -> Result<Reader<'a>, Error> {
    let attributes = info.any()?;
    if attributes.class != der::CONTEXT || attributes.tag != 0 || !attributes.constructed {
        return Err(Error::structure("tags don't match"));
    }
    Ok(Reader::new(attributes.content))
}

/// Returns the alternative names among the extensions that are asked for. Attributes that are malformed are ignored.
fn alt_names(mut attributes: Reader<'_>) -> Result<AltNames, Error> {
    let mut found = AltNames::default();
    let mut seen = BTreeSet::new();
    while !attributes.is_empty() {
        let attribute = attributes.any()?;
        let Some(value) = extension_request(attribute.whole) else {
            continue;
        };
        for extension in Extension::read_all(&mut Reader::new(value))? {
            if !seen.insert(extension.oid) {
                let text = "x509: certificate request contains duplicate requested extensions";
                return Err(Error::new(text));
            }
            if extension.oid == oid::SUBJECT_ALT_NAME {
                found = AltNames::read(extension.value)?;
            }
        }
    }
    Ok(found)
}

/// Returns the first value of an attribute that asks for extensions.
fn extension_request(attribute: &[u8]) -> Option<&[u8]> {
    let mut all = Reader::new(attribute);
    let mut attribute = all.sequence("").ok()?;
    let id = attribute.object_identifier().ok()?;
    let values = attribute.expect(der::SET, "").ok()?;
    let first = Reader::new(values.content).any().ok()?;
    (id == oid::EXTENSION_REQUEST).then_some(first.whole)
}

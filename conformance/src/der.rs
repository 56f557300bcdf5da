//! Certificates in DER, as far as client certificates need it.
//!
//! Written by hand because the certificates to test with are odd on purpose: subjects with repeated, empty or no attributes.

use anyhow::{Result, anyhow};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};

const COMMON_NAME: &[u64] = &[2, 5, 4, 3];
const ORGANIZATION: &[u64] = &[2, 5, 4, 10];
const UID: &[u64] = &[1, 3, 6, 1, 4, 1, 57683, 2];
const EC_PUBLIC_KEY: &[u64] = &[1, 2, 840, 10045, 2, 1];
const P256: &[u64] = &[1, 2, 840, 10045, 3, 1, 7];
const ECDSA_WITH_SHA256: &[u64] = &[1, 2, 840, 10045, 4, 3, 2];
const BASIC_CONSTRAINTS: &[u64] = &[2, 5, 29, 19];
const EXTENDED_KEY_USAGE: &[u64] = &[2, 5, 29, 37];
const CLIENT_AUTH: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 3, 2];
const SERVER_AUTH: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 3, 1];

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

/// The subject of a certificate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject {
    /// The organizations, which are groups.
    pub groups: &'static [&'static str],
    /// The common name, if not empty.
    pub name: &'static str,
    /// The uids, of which there should be at most one.
    pub uids: &'static [&'static str],
}

/// The purpose of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Signs other certificates.
    Authority,
    /// Identifies a client.
    Client,
    /// Identifies a server only.
    Server,
}

/// A certificate to sign.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The subject.
    pub subject: Subject,
    /// The purpose.
    pub purpose: Purpose,
    /// The year in which it expires.
    pub until: u16,
    /// The public key.
    pub key: &'a EcdsaKeyPair,
}

/// Reads a private key in PKCS #8.
pub fn key(document: &[u8]) -> Result<EcdsaKeyPair> {
    let (curve, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
    EcdsaKeyPair::from_pkcs8(curve, document, &random).map_err(|e| anyhow!("not a key: {e}"))
}

/// Returns a public key as a SubjectPublicKeyInfo.
pub fn public_key(key: &EcdsaKeyPair) -> Vec<u8> {
    let algorithm = tagged(SEQUENCE, &[&oid(EC_PUBLIC_KEY), &oid(P256)]);
    let bits = tagged(0x03, &[&[0], key.public_key().as_ref()]);
    tagged(SEQUENCE, &[&algorithm, &bits])
}

/// Returns the certificate for a request, signed by an issuer.
pub fn certificate(
    request: &Request<'_>,
    issuer: &Subject,
    issuer_key: &EcdsaKeyPair,
) -> Result<Vec<u8>> {
    let algorithm = tagged(SEQUENCE, &[&oid(ECDSA_WITH_SHA256)]);
    let until = time(request.until);
    let body = tagged(
        SEQUENCE,
        &[
            &tagged(0xa0, &[&[0x02, 1, 2]]),
            &[0x02, 1, 7],
            &algorithm,
            &name(issuer),
            &tagged(SEQUENCE, &[&time(2020), &until]),
            &name(&request.subject),
            &public_key(request.key),
            &tagged(0xa3, &[&tagged(SEQUENCE, &[&extension(request.purpose)])]),
        ],
    );
    let signature = issuer_key
        .sign(&SystemRandom::new(), &body)
        .map_err(|e| anyhow!("cannot sign: {e}"))?;
    let bits = tagged(0x03, &[&[0], signature.as_ref()]);
    Ok(tagged(SEQUENCE, &[&body, &algorithm, &bits]))
}

fn name(subject: &Subject) -> Vec<u8> {
    let groups = subject.groups.iter().map(|group| (ORGANIZATION, *group));
    let name = Some((COMMON_NAME, subject.name)).filter(|(_, name)| !name.is_empty());
    let uids = subject.uids.iter().map(|uid| (UID, *uid));
    let attributes = groups.chain(name).chain(uids).flat_map(|(kind, value)| {
        let value = tagged(0x0c, &[value.as_bytes()]);
        tagged(SET, &[&tagged(SEQUENCE, &[&oid(kind), &value])])
    });
    tagged(SEQUENCE, &[&attributes.collect::<Vec<u8>>()])
}

fn extension(purpose: Purpose) -> Vec<u8> {
    let (kind, value) = match purpose {
        Purpose::Authority => (BASIC_CONSTRAINTS, tagged(0x01, &[&[0xff]])),
        Purpose::Client => (EXTENDED_KEY_USAGE, oid(CLIENT_AUTH)),
        Purpose::Server => (EXTENDED_KEY_USAGE, oid(SERVER_AUTH)),
    };
    let value = tagged(0x04, &[&tagged(SEQUENCE, &[&value])]);
    tagged(SEQUENCE, &[&oid(kind), &value])
}

/// Returns the beginning of a year.
fn time(year: u16) -> Vec<u8> {
    // Dates from 2050 have the longer form.
    let (tag, text) = match year {
        ..2050 => (0x17, format!("{:02}0101000000Z", year % 100)),
        _ => (0x18, format!("{year}0101000000Z")),
    };
    tagged(tag, &[text.as_bytes()])
}

fn oid(numbers: &[u64]) -> Vec<u8> {
    let first = match numbers {
        [a, b, ..] => a * 40 + b,
        _ => 0,
    };
    let mut out = Vec::new();
    for number in std::iter::once(&first).chain(numbers.iter().skip(2)) {
        let mut groups = vec![(number & 0x7f) as u8];
        let mut rest = number >> 7;
        while rest > 0 {
            groups.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        out.extend(groups.iter().rev());
    }
    tagged(0x06, &[&out])
}

/// Returns a value with its tag and length.
fn tagged(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = vec![tag];
    let bytes = length.to_be_bytes();
    match length {
        0..0x80 => out.push(length as u8),
        _ => {
            let digits: Vec<u8> = bytes.into_iter().skip_while(|b| *b == 0).collect();
            out.push(0x80 | digits.len() as u8);
            out.extend(digits);
        }
    }
    for part in parts {
        out.extend_from_slice(part);
    }
    out
}

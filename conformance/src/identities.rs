//! The identities that a server under test has to know: authorities, client certificates, the key that signs tokens of
//! service accounts, and a token file.
//!
//! A server in this process is given new ones; [`Identities::write`] leaves them in a folder for the flags of another.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, anyhow};
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair},
};

use crate::der::{self, Purpose, Request, Subject};

/// The token file.
const TOKENS: &str =
    "tok,admin,admin-uid,system:masters\nusertok,alice,alice-uid,devs\nbobtok,bob,bob-uid\n";

/// The authorities: of clients, of the proxy in front of the server, and one that the server does not know.
const AUTHORITIES: [&str; 3] = ["ca", "front-ca", "stranger"];

/// A client certificate to make.
struct Client {
    file: &'static str,
    authority: &'static str,
    purpose: Purpose,
    until: u16,
    subject: Subject,
}

/// The client certificates: good ones, and one for each way to be bad.
const CLIENTS: [Client; 12] = [
    client("cert-admin", "cert-admin", &["system:masters"], &[]),
    client("kcm", "system:kube-controller-manager", &[], &[]),
    client("carol", "carol", &["devs", "ops"], &[]),
    client("nameless", "", &["devs"], &[]),
    client("with-uid", "carol", &["devs"], &["carol-uid"]),
    client("two-uids", "carol", &[], &["one", "two"]),
    client("empty-uid", "carol", &[], &[""]),
    Client {
        purpose: Purpose::Server,
        ..client("server-only", "carol", &["system:masters"], &[])
    },
    Client {
        until: 2021,
        ..client("expired", "carol", &["system:masters"], &[])
    },
    Client {
        authority: "stranger",
        ..client("foreign", "carol", &["system:masters"], &[])
    },
    Client {
        authority: "front-ca",
        ..client("front-proxy", "front-proxy-client", &[], &[])
    },
    Client {
        authority: "front-ca",
        ..client("front-other", "other-proxy", &["system:masters"], &[])
    },
];

const fn client(
    file: &'static str,
    name: &'static str,
    groups: &'static [&'static str],
    uids: &'static [&'static str],
) -> Client {
    Client {
        file,
        authority: "ca",
        purpose: Purpose::Client,
        until: 2120,
        subject: Subject { groups, name, uids },
    }
}

/// Identities.
#[derive(Clone, Debug)]
pub struct Identities {
    /// Files by name: `tokens.csv`, and in PEM `ca.crt`, `front-ca.crt`, `sa.key`, `sa.pub`, `carol.crt`, `carol.key`, …
    files: BTreeMap<String, String>,
}

impl Identities {
    /// Makes new identities.
    pub fn generate() -> Result<Self> {
        let mut files = BTreeMap::from([("tokens.csv".to_owned(), TOKENS.to_owned())]);
        let mut keys = BTreeMap::new();
        for name in AUTHORITIES {
            let key = new_key(name, &mut files)?;
            let subject = authority(name);
            let request = Request {
                subject,
                purpose: Purpose::Authority,
                until: 2120,
                key: &key,
            };
            let certificate = der::certificate(&request, &subject, &key)?;
            files.insert(format!("{name}.crt"), pem("CERTIFICATE", &certificate));
            keys.insert(name, key);
        }
        for client in CLIENTS {
            let key = new_key(client.file, &mut files)?;
            let request = Request {
                subject: client.subject,
                purpose: client.purpose,
                until: client.until,
                key: &key,
            };
            let issuer = keys.get(client.authority).context("no authority")?;
            let certificate = der::certificate(&request, &authority(client.authority), issuer)?;
            let certificate = pem("CERTIFICATE", &certificate);
            files.insert(format!("{}.crt", client.file), certificate);
        }
        for signer in ["sa", "other-sa"] {
            let key = new_key(signer, &mut files)?;
            let public = pem("PUBLIC KEY", &der::public_key(&key));
            files.insert(format!("{signer}.pub"), public);
        }
        Ok(Self { files })
    }

    /// Reads the identities that were written to a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            files.insert(name, fs::read_to_string(entry.path())?);
        }
        Ok(Self { files })
    }

    /// Writes the identities to a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for (name, text) in &self.files {
            fs::write(folder.join(name), text)?;
        }
        Ok(())
    }

    /// Returns a file by its name, such as `ca.crt`.
    pub fn file(&self, name: &str) -> Result<&str> {
        let found = self.files.get(name).map(String::as_str);
        found.with_context(|| format!("there is no identity {name}"))
    }

    /// Returns a private key by its name, such as `sa`.
    pub fn key(&self, name: &str) -> Result<EcdsaKeyPair> {
        der::key(&unarmored(self.file(&format!("{name}.key"))?)?)
    }
}

fn authority(name: &'static str) -> Subject {
    Subject {
        name,
        ..Subject::default()
    }
}

fn new_key(name: &str, files: &mut BTreeMap<String, String>) -> Result<EcdsaKeyPair> {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)
        .map_err(|e| anyhow!("cannot make a key: {e}"))?;
    let text = pem("PRIVATE KEY", document.as_ref());
    files.insert(format!("{name}.key"), text);
    der::key(document.as_ref())
}

fn pem(kind: &str, der: &[u8]) -> String {
    let encoded = STANDARD.encode(der);
    let mut out = format!("-----BEGIN {kind}-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out.push_str(&format!("-----END {kind}-----\n"));
    out
}

/// Returns what is inside the first block of a PEM file.
pub fn unarmored(pem: &str) -> Result<Vec<u8>> {
    let lines = pem
        .lines()
        .skip_while(|line| !line.starts_with("-----BEGIN "));
    let inside = lines.skip(1).take_while(|line| !line.starts_with("-----"));
    let text: String = inside.map(str::trim).collect();
    STANDARD.decode(text).context("not a PEM file")
}

#[cfg(test)]
mod tests {
    use super::Identities;

    #[test]
    fn every_certificate_has_its_key() {
        let identities = Identities::generate().unwrap();
        for client in super::CLIENTS {
            let certificate = identities.file(&format!("{}.crt", client.file)).unwrap();
            assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----\n"));
            assert!(identities.key(client.file).is_ok());
        }
        assert!(identities.file("nobody.crt").is_err());
    }
}

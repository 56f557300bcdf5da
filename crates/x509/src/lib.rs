//! Certificate requests, certificates and a certificate authority, as Kubernetes reads and issues them.
//!
//! Kubernetes parses certificates with Go's `crypto/x509`, and its API shows the messages of that package. This crate
//! reads the same documents, with the same messages for the errors that users meet, and issues the same certificates.
//! It is not a verifier of chains; TLS stacks are.
//!
//! | type | contents |
//! |---|---|
//! | [`pem`] | PEM blocks as Go finds them in a text |
//! | [`CertificateRequest`] | a PKCS#10 request: subject, alternative names, key, self-signature |
//! | [`Certificate`] | an X.509 certificate: names, validity, key, usages |
//! | [`SigningKey`] | a private key from PEM, or a new one |
//! | [`Authority`] | a certificate and its key, to issue certificates |
//!
//! ```
//! use kubewright_x509::{Authority, CertificateRequest, SigningKey, Template, Validity};
//! # let key = rcgen::KeyPair::generate().unwrap();
//! # let mut params = rcgen::CertificateParams::new(vec!["web.shop.svc".to_owned()]).unwrap();
//! # params.distinguished_name.push(rcgen::DnType::CommonName, "web");
//! # let request_pem = params.serialize_request(&key).unwrap().pem().unwrap();
//! # let mut params = rcgen::CertificateParams::default();
//! # params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
//! # let key = rcgen::KeyPair::generate().unwrap();
//! # let (ca_pem, ca_key_pem) = (params.self_signed(&key).unwrap().pem(), key.serialize_pem());
//!
//! let request = CertificateRequest::from_pem(request_pem.as_bytes()).unwrap();
//! request.verify().unwrap();
//! assert_eq!(request.subject().common_name(), "web");
//!
//! let authority = Authority::from_pem(ca_pem.as_bytes(), ca_key_pem.as_bytes()).unwrap();
//! let validity = Validity { not_before: 1_700_000_000, not_after: 1_800_000_000 };
//! let issued = authority.issue(&Template::for_request(&request, validity)).unwrap();
//! assert_eq!(issued.subject().common_name(), "web");
//! assert_eq!(issued.alt_names().dns, ["web.shop.svc"]);
//! ```
//!
//! Input is untrusted: nothing recurses, nothing allocates more than a multiple of the input, and nothing panics.

mod alt_names;
mod authority;
mod certificate;
mod der;
mod encode;
mod error;
mod jose;
mod name;
mod oid;
pub mod pem;
mod public_key;
mod request;
mod signing_key;
mod text;
mod time;
mod usages;

pub use alt_names::AltNames;
pub use authority::{Authority, Template};
pub use certificate::{Certificate, Validity};
pub use error::Error;
pub use jose::KeyType;
pub use name::{Attribute, Name};
pub use public_key::PublicKey;
pub use request::CertificateRequest;
pub use signing_key::SigningKey;
pub use usages::{ExtendedKeyUsage, KeyUsage};

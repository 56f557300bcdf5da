//! [`AltNames`]: the alternative names of a subject.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{
    Error,
    der::{self, CONTEXT, Reader},
    encode,
};

const EMAIL: u8 = 1;
const DNS: u8 = 2;
const URI: u8 = 6;
const IP: u8 = 7;

/// The alternative names of a subject: host names, addresses, and others that Kubernetes forbids for nodes.
///
/// ```
/// use kubewright_x509::AltNames;
///
/// let names = AltNames { dns: vec!["localhost".to_owned()], ..AltNames::default() };
/// assert!(!names.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AltNames {
    /// DNS names.
    pub dns: Vec<String>,
    /// E-mail addresses.
    pub emails: Vec<String>,
    /// IP addresses.
    pub ips: Vec<IpAddr>,
    /// URIs.
    pub uris: Vec<String>,
}

impl AltNames {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.dns.is_empty() && self.emails.is_empty() && self.ips.is_empty() && self.uris.is_empty()
    }

    /// Reads the value of the extension. Names of other types are skipped.
    pub(crate) fn read(value: &[u8]) -> Result<Self, Error> {
        let invalid = |what: &str| Error::new(format!("x509: invalid subject alternative {what}"));
        let names = Reader::new(value).expect(der::SEQUENCE, "");
        let mut names = Reader::new(names.map_err(|_| invalid("names"))?.content);
        let mut found = Self::default();
        while !names.is_empty() {
            let name = names.any().map_err(|_| invalid("name"))?;
            if name.class != CONTEXT || name.constructed {
                continue;
            }
            let text = |what: &str| match std::str::from_utf8(name.content) {
                Ok(text) if text.is_ascii() => Ok(text.to_owned()),
                _ => Err(Error::new(format!("x509: SAN {what} is malformed"))),
            };
            match u8::try_from(name.tag) {
                Ok(EMAIL) => found.emails.push(text("rfc822Name")?),
                Ok(DNS) => found.dns.push(text("dNSName")?),
                Ok(URI) => found.uris.push(text("uniformResourceIdentifier")?),
                Ok(IP) => found.ips.push(address(name.content)?),
                _ => {}
            }
        }
        Ok(found)
    }

    /// Encodes the value of the extension.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let texts = |tag: u8, names: &[String]| -> Vec<Vec<u8>> {
            let encode = |name: &String| encode::context(tag, name.as_bytes());
            names.iter().map(encode).collect()
        };
        let mut names = texts(DNS, &self.dns);
        names.extend(texts(EMAIL, &self.emails));
        // An IPv4 address is never written as an IPv6 one.
        names.extend(self.ips.iter().map(|ip| match ip.to_canonical() {
            IpAddr::V4(ip) => encode::context(IP, &ip.octets()),
            IpAddr::V6(ip) => encode::context(IP, &ip.octets()),
        }));
        names.extend(texts(URI, &self.uris));
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        encode::sequence(&names)
    }
}

fn address(bytes: &[u8]) -> Result<IpAddr, Error> {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return Ok(Ipv4Addr::from(octets).into());
    }
    if let Ok(octets) = <[u8; 16]>::try_from(bytes) {
        return Ok(Ipv6Addr::from(octets).into());
    }
    let length = bytes.len();
    Err(Error::new(format!(
        "x509: cannot parse IP address of length {length}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let names = AltNames {
            dns: vec!["a.example".into(), "b.example".into()],
            emails: vec!["me@example".into()],
            ips: vec!["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()],
            uris: vec!["spiffe://example/x".into()],
        };
        assert_eq!(AltNames::read(&names.encode()), Ok(names));
        assert!(AltNames::read(&[0x30, 0]).unwrap().is_empty());
    }

    #[test]
    fn malformed_names_are_errors() {
        let one = |tag, bytes: &[u8]| encode::sequence(&[&encode::context(tag, bytes)]);
        for (value, text) in [
            (vec![4, 0], "x509: invalid subject alternative names"),
            (
                vec![0x30, 1, 0x82],
                "x509: invalid subject alternative name",
            ),
            (one(DNS, "ü".as_bytes()), "x509: SAN dNSName is malformed"),
            (
                one(IP, &[1, 2, 3]),
                "x509: cannot parse IP address of length 3",
            ),
        ] {
            assert_eq!(AltNames::read(&value).unwrap_err().to_string(), text);
        }
        // A directory name.
        let other = encode::sequence(&[&encode::explicit(4, &[0x30, 0])]);
        assert!(AltNames::read(&other).unwrap().is_empty());
    }
}

//! IP addresses and ranges in fields of built-in kinds.

use core::net::{IpAddr, Ipv4Addr};

use kubewright_machinery::field::{self, ErrorList, Path};

/// Parses an address, also in the spellings that were once accepted: decimal parts with leading zeros.
pub(crate) fn parse(text: &str) -> Option<IpAddr> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(match ip {
            IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(ip, IpAddr::V4),
            IpAddr::V4(_) => ip,
        });
    }
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() {
            0
        } else {
            digits.parse().ok()?
        };
    }
    parts
        .next()
        .is_none()
        .then(|| IpAddr::V4(Ipv4Addr::from(octets)))
}

/// Checks that an address can be the address of an endpoint: not unspecified, not of this machine, not of this link.
pub(crate) fn validate_endpoint(text: &str, path: &Path, errors: &mut ErrorList) {
    let Some(ip) = parse(text) else {
        errors.push(field::invalid_str(path, text, "must be a valid IP address"));
        return;
    };
    let mut invalid = |message: &str| errors.push(field::invalid_str(path, text, message));
    if ip.is_unspecified() {
        invalid(&format!("may not be unspecified ({text})"));
    }
    if ip.is_loopback() {
        invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    let (link_local, multicast) = match ip {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (
            v6.segments()[0] & 0xffc0 == 0xfe80,
            v6.segments()[0] & 0xff0f == 0xff02,
        ),
    };
    if link_local {
        invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if multicast {
        invalid("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

/// Checks a range in a field that is older than the strict rules, unless it was there before.
pub(crate) fn validate_legacy_cidr(
    text: &str,
    before: &[&str],
    path: &Path,
    errors: &mut ErrorList,
) {
    if before.contains(&text) {
        return;
    }
    let mut invalid = |message: String| errors.push(field::invalid_str(path, text, message));
    let Some((ip, bits)) = parse_cidr(text) else {
        invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_owned());
        return;
    };
    let (address, length) = text.split_once('/').unwrap_or((text, ""));
    let strict = address.parse::<IpAddr>();
    let padded = length.len() > 1 && length.starts_with('0');
    match strict {
        Ok(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_some() => {
            invalid("must not have an IPv4-mapped IPv6 address".to_owned());
        }
        Ok(_) if !padded => {}
        _ => {
            invalid("must not have leading 0s in IP or prefix length".to_owned());
            return;
        }
    }
    let network = network(ip, bits);
    if network != ip {
        invalid("must not have bits set beyond the prefix length".to_owned());
    }
}

/// An address and the length of its prefix.
pub(crate) fn parse_cidr(text: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = text.split_once('/')?;
    if length.is_empty() || !length.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (ip, bits) = (parse(address)?, length.parse::<u32>().ok()?);
    let most = if ip.is_ipv4() { 32 } else { 128 };
    (bits <= most).then_some((ip, bits))
}

/// The first address of the range.
pub(crate) fn network(ip: IpAddr, bits: u32) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or_default();
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX
                .checked_shl(128 - bits.min(128))
                .unwrap_or_default();
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

/// Returns warnings for an accepted address that is not in canonical form.
pub(crate) fn warnings(text: &str, path: &Path) -> Vec<String> {
    let Some(ip) = parse(text) else {
        return Vec::new();
    };
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_none() => {
            if v6.to_string() == text {
                return Vec::new();
            }
            vec![format!(
                "{path}: IPv6 address \"{text}\" should be in RFC 5952 canonical format (\"{v6}\")"
            )]
        }
        Ok(IpAddr::V4(_)) => Vec::new(),
        _ => vec![format!(
            "{path}: non-standard IP address \"{text}\" is invalid: use \"{ip}\""
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_spellings_are_read_and_warned_about() {
        assert_eq!(
            parse("010.001.0.1"),
            Some(IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1)))
        );
        assert_eq!(parse("10.1.0"), None);
        assert_eq!(parse("10.1.0.999"), None);
        assert_eq!(warnings("010.1.0.1", &Path::new("ip")).len(), 1);
        assert_eq!(warnings("2001:DB8::1", &Path::new("ip")).len(), 1);
        assert!(warnings("10.1.0.1", &Path::new("ip")).is_empty());
    }

    #[test]
    fn a_range_must_be_spelled_by_its_first_address() {
        let mut errors = ErrorList::new();
        validate_legacy_cidr("10.1.2.3/8", &[], &Path::new("c"), &mut errors);
        assert_eq!(errors.len(), 1);
        validate_legacy_cidr("10.1.2.3/8", &["10.1.2.3/8"], &Path::new("c"), &mut errors);
        validate_legacy_cidr("0.0.0.0/0", &[], &Path::new("c"), &mut errors);
        assert_eq!(errors.len(), 1);
    }
}

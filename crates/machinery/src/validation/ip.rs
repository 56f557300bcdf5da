//! IP addresses, in the strict form of new fields and the forms that older fields take.

use core::net::{IpAddr, Ipv6Addr};

/// An IP address in its one canonical form, as fields require that are newer than that rule.
pub fn is_ip(value: &str) -> Vec<String> {
    let (ip, out) = parse_ip(value, true);
    match ip {
        Some(ip) if out.is_empty() && ip.to_string() != value => {
            vec![format!("must be in canonical form (\"{ip}\")")]
        }
        _ => out,
    }
}

/// Checks an IP address as older fields accept it: any spelling, but no leading zeros and no IPv4 within IPv6.
pub fn is_ip_legacy(value: &str) -> Vec<String> {
    parse_ip(value, true).1
}

pub(super) fn parse_ip(value: &str, strict: bool) -> (Option<IpAddr>, Vec<String>) {
    let invalid = || "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned();
    let Some((ip, leading_zeros)) = sloppy_ip(value) else {
        return (None, vec![invalid()]);
    };
    let mut out = Vec::new();
    if strict && leading_zeros {
        out.push("must not have leading 0s".into());
    } else if strict && matches!(ip, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some()) {
        out.push("must not be an IPv4-mapped IPv6 address".into());
    }
    (Some(ip), out)
}

/// An address, in which IPv4 parts and long IPv6 groups may have leading zeros, and whether they did.
fn sloppy_ip(value: &str) -> Option<(IpAddr, bool)> {
    if let Ok(ip) = value.parse::<IpAddr>() {
        return Some((ip, false));
    }
    let unpadded = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    let ipv4 = |text: &str| {
        let parts: Vec<String> = text.split('.').map(unpadded).collect();
        parts.join(".")
    };
    if !value.contains(':') {
        return ipv4(value).parse().ok().map(|ip| (IpAddr::V4(ip), true));
    }
    let groups: Vec<String> = value
        .split(':')
        .map(|group| match group {
            g if g.contains('.') => ipv4(g),
            g if g.len() > 4 => unpadded(g),
            g => g.to_owned(),
        })
        .collect();
    groups
        .join(":")
        .parse::<Ipv6Addr>()
        .ok()
        .map(|ip| (IpAddr::V6(ip), true))
}

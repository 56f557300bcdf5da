//! Parses IP addresses, with the rules and messages of Go's `netip`.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kubewright_machinery::go::quote;

/// Parses an address; returns whether it has a zone.
pub(super) fn parse_address(text: &str) -> Result<(IpAddr, bool), String> {
    let fail = |why: &str| Err(format!("ParseAddr({}): {why}", quote(text)));
    match text.find(['.', ':', '%']).map(|at| text.as_bytes()[at]) {
        Some(b'.') => match parse_v4(text) {
            Ok(ip) => Ok((IpAddr::V4(ip), false)),
            Err(why) => fail(why),
        },
        Some(b':') => match parse_v6(text) {
            Ok((ip, zone)) => Ok((IpAddr::V6(ip), zone)),
            Err((why, None)) => fail(why),
            Err((why, Some(at))) => fail(&format!("{why} (at {})", quote(at))),
        },
        Some(_) => fail("missing IPv6 address"),
        None => fail("unable to parse IP"),
    }
}

fn parse_v4(text: &str) -> Result<Ipv4Addr, &'static str> {
    let mut octets = [0u8; 4];
    let mut count = 0;
    let mut value = 0u32;
    let mut digits = 0;
    let bytes = text.as_bytes();
    for (at, b) in bytes.iter().enumerate() {
        match b {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err("IPv4 field has octet with leading zero");
                }
                value = value * 10 + u32::from(b - b'0');
                digits += 1;
                if value > 255 {
                    return Err("IPv4 field has value >255");
                }
            }
            b'.' => {
                let alone = at == 0 || at + 1 == bytes.len();
                if alone || bytes.get(at.wrapping_sub(1)) == Some(&b'.') {
                    return Err("IPv4 field must have at least one digit");
                }
                if count == 3 {
                    return Err("IPv4 address too long");
                }
                octets[count] = value as u8;
                count += 1;
                value = 0;
                digits = 0;
            }
            _ => return Err("unexpected character"),
        }
    }
    if count < 3 {
        return Err("IPv4 address too short");
    }
    octets[3] = value as u8;
    Ok(Ipv4Addr::from(octets))
}

/// The address and whether it had a zone.
fn parse_v6(text: &str) -> Result<(Ipv6Addr, bool), (&'static str, Option<&str>)> {
    let (mut rest, zone) = match text.split_once('%') {
        Some((_, "")) => return Err(("zone must be a non-empty string", None)),
        Some((address, _)) => (address, true),
        None => (text, false),
    };
    let mut groups: Vec<u16> = Vec::with_capacity(8);
    let mut gap = None;
    if let Some(after) = rest.strip_prefix("::") {
        gap = Some(0);
        rest = after;
        if rest.is_empty() {
            return Ok((Ipv6Addr::UNSPECIFIED, zone));
        }
    }
    while groups.len() < 8 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits == 0 {
            return Err((
                "each colon-separated field must have at least one digit",
                Some(rest),
            ));
        }
        if digits > 4 {
            return Err(("each group must have 4 or less digits", Some(rest)));
        }
        if rest[digits..].starts_with('.') {
            if gap.is_none() && groups.len() != 6 {
                let why = "embedded IPv4 address must replace the final 2 fields of the address";
                return Err((why, Some(rest)));
            }
            if groups.len() > 6 {
                return Err((
                    "too many hex fields to fit an embedded IPv4 at the end of the address",
                    Some(rest),
                ));
            }
            let v4 = parse_v4(rest).map_err(|why| (why, Some(rest)))?;
            let [a, b, c, d] = v4.octets();
            groups.push(u16::from_be_bytes([a, b]));
            groups.push(u16::from_be_bytes([c, d]));
            rest = "";
            break;
        }
        groups.push(u16::from_str_radix(&rest[..digits], 16).unwrap_or(0));
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else {
            return Err(("unexpected character, want colon", Some(rest)));
        };
        if after.is_empty() {
            return Err(("colon must be followed by more characters", Some(rest)));
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if gap.is_some() {
                return Err(("multiple :: in address", Some(rest)));
            }
            gap = Some(groups.len());
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Err(("trailing garbage after address", Some(rest)));
    }
    match gap {
        None if groups.len() < 8 => return Err(("address string too short", None)),
        Some(_) if groups.len() == 8 => {
            return Err(("the :: must expand to at least one field of zeros", None));
        }
        Some(at) => {
            let missing = 8 - groups.len();
            groups.splice(at..at, std::iter::repeat_n(0, missing));
        }
        None => {}
    }
    let mut fields = [0u16; 8];
    fields.iter_mut().zip(groups).for_each(|(f, g)| *f = g);
    Ok((Ipv6Addr::from(fields), zone))
}

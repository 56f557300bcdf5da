//! IP addresses and networks.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::value::{EvalError, EvalResult, Value};
use kubewright_machinery::go::quote;

use super::address::parse_address;
use super::{Implementation, Registry, no_such_overload};

pub(super) fn declare(r: &mut Registry) {
    r.global(
        "ip",
        "string_to_ip",
        "string",
        "ip",
        read_ip as Implementation,
    );
    r.global("isIP", "is_ip", "string", "bool", is_ip as Implementation);
    r.global(
        "ip.isCanonical",
        "ip_is_canonical",
        "string",
        "bool",
        is_canonical as Implementation,
    );
    r.global(
        "string",
        "ip_to_string",
        "ip",
        "string",
        to_string as Implementation,
    );
    r.global(
        "cidr",
        "string_to_cidr",
        "string",
        "cidr",
        read_cidr as Implementation,
    );
    r.global(
        "isCIDR",
        "is_cidr",
        "string",
        "bool",
        is_cidr as Implementation,
    );
    r.global(
        "string",
        "cidr_to_string",
        "cidr",
        "string",
        to_string as Implementation,
    );
    let members: [(&'static str, &'static str, &str, &str, Implementation); 13] = [
        ("family", "ip_family", "ip", "int", family),
        ("isUnspecified", "ip_is_unspecified", "ip", "bool", |a| {
            test(a, |ip| ip.is_unspecified())
        }),
        ("isLoopback", "ip_is_loopback", "ip", "bool", |a| {
            test(a, |ip| ip.is_loopback())
        }),
        (
            "isLinkLocalMulticast",
            "ip_is_link_local_multicast",
            "ip",
            "bool",
            |a| test(a, is_link_local_multicast),
        ),
        (
            "isLinkLocalUnicast",
            "ip_is_link_local_unicast",
            "ip",
            "bool",
            |a| test(a, is_link_local_unicast),
        ),
        (
            "isGlobalUnicast",
            "ip_is_global_unicast",
            "ip",
            "bool",
            |a| test(a, is_global_unicast),
        ),
        (
            "containsIP",
            "cidr_contains_ip_string",
            "cidr string",
            "bool",
            contains_ip,
        ),
        (
            "containsIP",
            "cidr_contains_ip_ip",
            "cidr ip",
            "bool",
            contains_ip,
        ),
        (
            "containsCIDR",
            "cidr_contains_cidr_string",
            "cidr string",
            "bool",
            contains_cidr,
        ),
        (
            "containsCIDR",
            "cidr_contains_cidr",
            "cidr cidr",
            "bool",
            contains_cidr,
        ),
        ("ip", "cidr_ip", "cidr", "ip", address),
        (
            "prefixLength",
            "cidr_prefix_length",
            "cidr",
            "int",
            prefix_length,
        ),
        ("masked", "cidr_masked", "cidr", "cidr", masked),
    ];
    for (name, id, params, result, implementation) in members {
        r.member(name, id, params, result, implementation);
    }
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let quoted = quote(text);
    match parse_address(text) {
        Err(why) => Err(format!(
            "IP Address {quoted} parse error during conversion from string: {why}"
        )),
        Ok((_, true)) => Err(format!(
            "IP address {quoted} with zone value is not allowed"
        )),
        Ok((ip, _)) if is_mapped(ip) => {
            Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"))
        }
        Ok((ip, _)) => Ok(ip),
    }
}

fn parse_cidr(text: &str) -> Result<(IpAddr, u8), String> {
    let quoted = quote(text);
    let fail = |why: String| {
        Err(format!(
            "network address parse error during conversion from string: netip.ParsePrefix({quoted}): {why}"
        ))
    };
    let Some((address, bits)) = text.rsplit_once('/') else {
        return fail("no '/'".into());
    };
    let ip = match parse_address(address) {
        Err(why) => return fail(why),
        Ok((_, true)) => return fail("IPv6 zones cannot be present in a prefix".into()),
        Ok((ip, _)) => ip,
    };
    let plain =
        bits.bytes().all(|b| b.is_ascii_digit()) && (bits.len() < 2 || !bits.starts_with('0'));
    let Some(bits) = bits.parse::<u32>().ok().filter(|_| plain) else {
        return fail(format!("bad bits after slash: {}", quote(bits)));
    };
    if bits > width(ip) {
        return fail("prefix length out of range".into());
    }
    if is_mapped(ip) {
        return Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"));
    }
    Ok((ip, bits as u8))
}

fn width(ip: IpAddr) -> u32 {
    if ip.is_ipv4() { 32 } else { 128 }
}

fn mask(ip: IpAddr, bits: u8) -> IpAddr {
    let bits = u32::from(bits);
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(ip) & mask))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(ip) & mask))
        }
    }
}

fn in_network(network: IpAddr, bits: u8, ip: IpAddr) -> bool {
    network.is_ipv4() == ip.is_ipv4() && mask(network, bits) == mask(ip, bits)
}

fn read_ip<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => parse_ip(text).map(Value::Ip).map_err(EvalError::new),
        _ => no_such_overload(),
    }
}

fn is_ip<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => Ok(Value::Bool(parse_ip(text).is_ok())),
        _ => no_such_overload(),
    }
}

fn is_canonical<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => {
            let ip = parse_ip(text).map_err(EvalError::new)?;
            Ok(Value::Bool(ip.to_string() == text[..]))
        }
        _ => no_such_overload(),
    }
}

fn to_string<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Ip(ip)] => Ok(Value::text(ip.to_string())),
        [Value::Cidr(ip, bits)] => Ok(Value::text(format!("{ip}/{bits}"))),
        _ => no_such_overload(),
    }
}

fn family<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Ip(ip)] => Ok(Value::Int(if ip.is_ipv4() { 4 } else { 6 })),
        _ => no_such_overload(),
    }
}

fn test<'a>(args: &[Value<'a>], test: fn(IpAddr) -> bool) -> EvalResult<'a> {
    match args {
        [Value::Ip(ip)] => Ok(Value::Bool(test(*ip))),
        _ => no_such_overload(),
    }
}

fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_global_unicast(ip: IpAddr) -> bool {
    !(ip.is_unspecified()
        || ip.is_loopback()
        || ip.is_multicast()
        || is_link_local_unicast(ip)
        || ip == IpAddr::V4(Ipv4Addr::BROADCAST))
}

fn read_cidr<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => match parse_cidr(text) {
            Ok((ip, bits)) => Ok(Value::Cidr(ip, bits)),
            Err(why) => Err(EvalError::new(format!(
                "network address parse error during conversion from string: {why}"
            ))),
        },
        _ => no_such_overload(),
    }
}

fn is_cidr<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => Ok(Value::Bool(parse_cidr(text).is_ok())),
        _ => no_such_overload(),
    }
}

fn contains_ip<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Cidr(network, bits), Value::Ip(ip)] => {
            Ok(Value::Bool(in_network(*network, *bits, *ip)))
        }
        [Value::Cidr(network, bits), Value::String(text)] => match parse_ip(text) {
            Ok(ip) => Ok(Value::Bool(in_network(*network, *bits, ip))),
            // The reason is not part of the message.
            Err(_) => no_such_overload(),
        },
        _ => no_such_overload(),
    }
}

fn contains_cidr<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::Cidr(network, bits), other] = args else {
        return no_such_overload();
    };
    let read;
    let other = match other {
        Value::String(_) => {
            read = read_cidr(std::slice::from_ref(other))?;
            &read
        }
        other => other,
    };
    match other {
        Value::Cidr(inner, inner_bits) => Ok(Value::Bool(
            bits <= inner_bits && in_network(*network, *bits, *inner),
        )),
        _ => no_such_overload(),
    }
}

fn address<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Cidr(ip, _)] => Ok(Value::Ip(*ip)),
        _ => no_such_overload(),
    }
}

fn prefix_length<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Cidr(_, bits)] => Ok(Value::Int(i64::from(*bits))),
        _ => no_such_overload(),
    }
}

fn masked<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Cidr(ip, bits)] => Ok(Value::Cidr(mask(*ip, *bits), *bits)),
        _ => no_such_overload(),
    }
}

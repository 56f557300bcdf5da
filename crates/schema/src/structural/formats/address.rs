//! Network addresses, as Go's `net` reads them; leading zeros in IPv4 are tolerated.

use core::net::Ipv6Addr;

pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && is_ip(text)
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else {
        return false;
    };
    let most = if is_dotted(address) {
        32
    } else if is_ip(address) {
        128
    } else {
        return false;
    };
    let digits = !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_digit());
    digits && prefix.parse::<u32>().is_ok_and(|bits| bits <= most)
}

/// Reports whether a text is a hardware address: 6, 8 or 20 bytes in pairs, or 6 or 8 bytes in fours with dots.
pub(super) fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize| {
        let mut count = 0;
        for part in text.split(separator) {
            if part.len() != width || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return 0;
            }
            count += 1;
        }
        count
    };
    match text.as_bytes().get(2) {
        Some(b':') => matches!(groups(':', 2), 6 | 8 | 20),
        Some(b'-') => matches!(groups('-', 2), 6 | 8 | 20),
        _ => matches!(groups('.', 4), 3 | 4 | 10),
    }
}

fn is_ip(text: &str) -> bool {
    is_dotted(text) || is_ipv6(text)
}

fn is_dotted(text: &str) -> bool {
    let mut count = 0;
    for part in text.split('.') {
        count += 1;
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let value = part.trim_start_matches('0');
        if !digits || (!value.is_empty() && value.parse::<u32>().map_or(true, |v| v > 255)) {
            return false;
        }
    }
    count == 4
}

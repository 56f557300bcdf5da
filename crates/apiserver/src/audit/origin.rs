//! The addresses that a request came from.

use std::net::IpAddr;

use http::request::Parts;
use kubewright_serve::PeerAddress;

/// Returns the addresses that proxies report, and that of the peer, which cannot be forged, last.
pub(super) fn source_ips(parts: &Parts) -> Vec<IpAddr> {
    let text = |name: &str| {
        let value = parts.headers.get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    };
    let forwarded = text("x-forwarded-for").split(',');
    let mut ips: Vec<IpAddr> = forwarded.filter_map(|ip| ip.trim().parse().ok()).collect();
    if let Ok(real) = text("x-real-ip").parse()
        && !ips.contains(&real)
    {
        ips.push(real);
    }
    if let Some(PeerAddress(peer)) = parts.extensions.get() {
        let peer = peer.ip().to_canonical();
        if ips.last() != Some(&peer) {
            ips.push(peer);
        }
    }
    ips
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn ips(headers: &[(&str, &str)], peer: Option<&str>) -> Vec<String> {
        let mut request = Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        if let Some(peer) = peer {
            parts.extensions.insert(PeerAddress(peer.parse().unwrap()));
        }
        source_ips(&parts).iter().map(IpAddr::to_string).collect()
    }

    #[test]
    fn proxies_precede_the_peer_and_invalid_addresses_are_skipped() {
        let forwarded = ("x-forwarded-for", "1.2.3.4, unknown, 5.6.7.8");
        let real = ("x-real-ip", "9.9.9.9");
        let peer = Some("127.0.0.1:4711");
        assert_eq!(
            ips(&[forwarded, real], peer),
            ["1.2.3.4", "5.6.7.8", "9.9.9.9", "127.0.0.1"]
        );
        assert_eq!(ips(&[("x-real-ip", "127.0.0.1")], peer), ["127.0.0.1"]);
        assert_eq!(ips(&[], Some("[::ffff:10.0.0.1]:1")), ["10.0.0.1"]);
        assert!(ips(&[], None).is_empty());
    }
}

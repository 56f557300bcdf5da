//! Addresses of nodes and pods.

use std::{collections::BTreeSet, net::Ipv4Addr};

/// The number of nodes whose ranges are in 10.244.0.0/16, one /24 each.
const SMALL: u32 = 256;

/// Returns the address of the node with a number: 172.18.0.2, 172.18.0.3, …
pub(crate) fn node_ip(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(
        Ipv4Addr::new(172, 18, 0, 2)
            .to_bits()
            .saturating_add(number),
    )
}

/// The addresses of the pods of one node.
#[derive(Debug)]
pub(crate) struct PodRange {
    first: u32,
    size: u32,
    /// The addresses in use, some of which may be in an earlier range of the node.
    used: BTreeSet<u32>,
    /// The address to try next.
    next: u32,
}

impl PodRange {
    /// Returns the range of the node with a number.
    pub(crate) fn of(number: u32) -> Self {
        let (base, size) = match number {
            number if number < SMALL => (Ipv4Addr::new(10, 244, 0, 0), 256),
            _ => (Ipv4Addr::new(10, 128, 0, 0), 1024),
        };
        Self {
            first: base.to_bits().wrapping_add(number.wrapping_mul(size)),
            size,
            used: BTreeSet::new(),
            next: 0,
        }
    }

    /// Returns the range as a `podCIDR`.
    pub(crate) fn cidr(&self) -> String {
        let bits = self.size.leading_zeros() + 1;
        format!("{}/{bits}", Ipv4Addr::from_bits(self.first))
    }

    /// Takes over the `podCIDR` of the node. Ranges that are not of IPv4, or too small for pods, are ignored.
    pub(crate) fn adopt(&mut self, cidr: &str) {
        let parsed = cidr.split_once('/').and_then(|(first, bits)| {
            let first: Ipv4Addr = first.parse().ok()?;
            let bits: u32 = bits.parse().ok()?;
            Some((first.to_bits(), bits))
        });
        let Some((first, bits @ 4..=29)) = parsed else {
            return;
        };
        let size = 1 << (32 - bits);
        let first = first & !(size - 1);
        if (self.first, self.size) != (first, size) {
            (self.first, self.size, self.next) = (first, size, 0);
        }
    }

    /// Allocates an address. Addresses are allocated in order, so that one is not reused immediately.
    pub(crate) fn take(&mut self) -> Option<Ipv4Addr> {
        // The first two addresses and the last one are reserved.
        let usable = self.size - 3;
        for _ in 0..usable {
            let address = self.first + 2 + self.next % usable;
            self.next = (self.next + 1) % usable;
            if self.used.insert(address) {
                return Some(Ipv4Addr::from_bits(address));
            }
        }
        None
    }

    /// Marks an address as used.
    pub(crate) fn occupy(&mut self, ip: Ipv4Addr) {
        self.used.insert(ip.to_bits());
    }

    /// Releases an address.
    pub(crate) fn free(&mut self, ip: Ipv4Addr) {
        self.used.remove(&ip.to_bits());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_allocated_in_order_and_once() {
        let mut range = PodRange::of(1);
        let first = range.take().unwrap();
        assert_eq!(first, Ipv4Addr::new(10, 244, 1, 2));
        range.free(first);
        assert_eq!(range.take().unwrap(), Ipv4Addr::new(10, 244, 1, 3));
        let rest = std::iter::from_fn(|| range.take()).count();
        assert_eq!(rest, 252);
        assert!(range.take().is_none());
        range.free(first);
        assert_eq!(range.take(), Some(first));
    }

    #[test]
    fn the_range_is_the_pod_cidr_of_the_node() {
        let mut range = PodRange::of(1);
        assert_eq!(range.cidr(), "10.244.1.0/24");
        assert_eq!(PodRange::of(300).cidr(), "10.132.176.0/22");
        let old = range.take().unwrap();
        range.adopt("10.7.0.0/28");
        assert_eq!(range.cidr(), "10.7.0.0/28");
        let all: Vec<_> = std::iter::from_fn(|| range.take()).collect();
        assert_eq!(all.len(), 13);
        assert_eq!(all[0], Ipv4Addr::new(10, 7, 0, 2));
        // Addresses of pods that are there already stay in use.
        range.adopt("10.244.1.0/24");
        assert_ne!(range.take(), Some(old));
        for bad in ["fd00::/64", "10.0.0.0/30", "10.0.0.0", "x/24"] {
            range.adopt(bad);
            assert_eq!(range.cidr(), "10.244.1.0/24", "{bad}");
        }
    }

    #[test]
    fn a_thousand_nodes_have_ranges_of_their_own() {
        let mut seen = BTreeSet::new();
        for number in 0..1000 {
            assert!(seen.insert(PodRange::of(number).take()));
            assert!(seen.insert(Some(node_ip(number))));
        }
    }
}

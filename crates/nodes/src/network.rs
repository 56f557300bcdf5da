//! Addresses of nodes and pods.

use std::{collections::BTreeSet, net::Ipv4Addr};

/// The number of nodes whose ranges are in 10.244.0.0/16, one /24 each.
const SMALL: u32 = 256;

/// Returns the address of a node by its number: 172.18.0.2, 172.18.0.3, …
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
    used: BTreeSet<u32>,
    /// The address to try next.
    next: u32,
}

impl PodRange {
    /// Returns the range of a node by its number.
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

    /// Takes an address. They are given in turn, so that an address is not used again at once.
    pub(crate) fn take(&mut self) -> Option<Ipv4Addr> {
        // The first two and the last are not for pods.
        let usable = self.size - 3;
        for _ in 0..usable {
            let offset = 2 + self.next % usable;
            self.next = (self.next + 1) % usable;
            if self.used.insert(offset) {
                return Some(Ipv4Addr::from_bits(self.first + offset));
            }
        }
        None
    }

    /// Marks an address as used.
    pub(crate) fn occupy(&mut self, ip: Ipv4Addr) {
        if let Some(offset) = self.offset(ip) {
            self.used.insert(offset);
        }
    }

    /// Gives an address back.
    pub(crate) fn free(&mut self, ip: Ipv4Addr) {
        if let Some(offset) = self.offset(ip) {
            self.used.remove(&offset);
        }
    }

    fn offset(&self, ip: Ipv4Addr) -> Option<u32> {
        let offset = ip.to_bits().checked_sub(self.first)?;
        (offset < self.size).then_some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_given_in_turn_and_once() {
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
    fn a_thousand_nodes_have_ranges_of_their_own() {
        let mut seen = BTreeSet::new();
        for number in 0..1000 {
            assert!(seen.insert(PodRange::of(number).take()));
            assert!(seen.insert(Some(node_ip(number))));
        }
    }
}

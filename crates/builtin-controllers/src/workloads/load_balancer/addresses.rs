//! [`Addresses`]: the addresses of load balancers.

use std::{collections::BTreeMap, net::Ipv4Addr};

use kubewright_informer::Key;

/// The range of the addresses: one that documentation uses, so that it is nobody's.
const RANGE: [u8; 3] = [198, 51, 100];

/// The addresses of load balancers.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    used: BTreeMap<Ipv4Addr, Key>,
}

impl Addresses {
    /// Records the address of a service. Addresses of other ranges are ignored.
    pub(super) fn occupy(&mut self, address: Ipv4Addr, service: &Key) {
        if address.octets()[..3] == RANGE {
            self.used.entry(address).or_insert_with(|| service.clone());
        }
    }

    /// Allocates an address: the one that the service has or wants if it is free, or else the first free one. Returns `None` if
    /// there are none left.
    pub(super) fn allocate(&mut self, service: &Key, wanted: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
        let mut known = self.used.iter();
        if let Some((address, _)) = known.find(|(_, owner)| *owner == service) {
            return Some(*address);
        }
        let is_free = |address: &Ipv4Addr| !self.used.contains_key(address);
        let [a, b, c] = RANGE;
        let mut all = (1..=254).map(|last| Ipv4Addr::new(a, b, c, last));
        let wanted = wanted.filter(|wanted| wanted.octets()[..3] == RANGE);
        let address = wanted.filter(is_free).or_else(|| all.find(is_free))?;
        self.used.insert(address, service.clone());
        Some(address)
    }

    /// Releases the address of a service.
    pub(super) fn release(&mut self, service: &Key) {
        self.used.retain(|_, owner| owner != service);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new(Some("default"), name)
    }

    #[test]
    fn addresses_are_given_once_and_can_be_asked_for() {
        let mut addresses = Addresses::default();
        let of = |last| Ipv4Addr::new(198, 51, 100, last);
        addresses.occupy(of(1), &key("old"));
        addresses.occupy(Ipv4Addr::new(10, 0, 0, 1), &key("foreign"));
        assert_eq!(addresses.allocate(&key("a"), None), Some(of(2)));
        assert_eq!(addresses.allocate(&key("a"), Some(of(9))), Some(of(2)));
        assert_eq!(addresses.allocate(&key("b"), Some(of(9))), Some(of(9)));
        assert_eq!(addresses.allocate(&key("c"), Some(of(9))), Some(of(3)));
        addresses.release(&key("a"));
        assert_eq!(addresses.allocate(&key("d"), None), Some(of(2)));
        let rest = (0..).map_while(|i| addresses.allocate(&key(&format!("s{i}")), None));
        assert_eq!(rest.count(), 250);
    }
}

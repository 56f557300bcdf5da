//! Subsets of Endpoints in their canonical form: one for each set of addresses, with all its ports.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset};

/// The maximum number of addresses.
const MAX_ADDRESSES: usize = 1000;

/// An address with a port of it; `None` for a Service without ports.
pub(super) struct Entry {
    pub(super) address: EndpointAddress,
    pub(super) port: Option<EndpointPort>,
    pub(super) is_ready: bool,
}

/// The identity of an address: two pods may have one address.
type Id = (String, String);

/// Returns the subsets of entries.
pub(super) fn pack(entries: Vec<Entry>) -> Vec<EndpointSubset> {
    let mut addresses: BTreeMap<Id, EndpointAddress> = BTreeMap::new();
    let mut by_port: BTreeMap<String, (Option<EndpointPort>, BTreeMap<Id, bool>)> = BTreeMap::new();
    for entry in entries {
        let target = entry.address.target_ref.as_ref();
        let uid = target.and_then(|target| target.uid.clone());
        let id = (entry.address.ip.clone(), uid.unwrap_or_default());
        addresses.entry(id.clone()).or_insert(entry.address);
        let key = format!("{:?}", entry.port);
        let (_, ready) = by_port
            .entry(key)
            .or_insert_with(|| (entry.port, BTreeMap::new()));
        let is_ready = ready.entry(id).or_insert(true);
        *is_ready &= entry.is_ready;
    }
    let mut by_addresses: BTreeMap<Vec<(Id, bool)>, Vec<EndpointPort>> = BTreeMap::new();
    for (port, ready) in by_port.into_values() {
        let ports = by_addresses.entry(ready.into_iter().collect()).or_default();
        ports.extend(port);
    }
    let subset = |(ids, mut ports): (Vec<(Id, bool)>, Vec<EndpointPort>)| {
        let of = |wanted: bool| -> Option<Vec<EndpointAddress>> {
            let ids = ids.iter().filter(|(_, is_ready)| *is_ready == wanted);
            let found: Vec<_> = ids
                .filter_map(|(id, _)| addresses.get(id).cloned())
                .collect();
            (!found.is_empty()).then_some(found)
        };
        ports.sort_by(|a, b| (a.port, &a.name).cmp(&(b.port, &b.name)));
        EndpointSubset {
            addresses: of(true),
            not_ready_addresses: of(false),
            ports: (!ports.is_empty()).then_some(ports),
        }
    };
    by_addresses.into_iter().map(subset).collect()
}

/// Cuts off addresses that are too many, those that are not ready first, each subset in proportion. Returns whether there
/// were any.
pub(super) fn truncate(subsets: &mut [EndpointSubset]) -> bool {
    let count = |addresses: &Option<Vec<EndpointAddress>>| addresses.as_ref().map_or(0, Vec::len);
    let ready: usize = subsets.iter().map(|subset| count(&subset.addresses)).sum();
    let not_ready: usize = subsets
        .iter()
        .map(|subset| count(&subset.not_ready_addresses))
        .sum();
    if ready + not_ready <= MAX_ADDRESSES {
        return false;
    }
    let cuts_ready = ready > MAX_ADDRESSES;
    let (most, total) = match cuts_ready {
        true => (MAX_ADDRESSES, ready),
        false => (MAX_ADDRESSES - ready, not_ready),
    };
    let mut left = most;
    for subset in subsets {
        let list = match cuts_ready {
            true => &mut subset.addresses,
            false => &mut subset.not_ready_addresses,
        };
        let share = (count(list) * most).div_ceil(total).min(left);
        if let Some(list) = list {
            list.truncate(share);
            left -= list.len();
        }
        if cuts_ready {
            subset.not_ready_addresses = None;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(ip: usize, port: i32, is_ready: bool) -> Entry {
        Entry {
            address: EndpointAddress {
                ip: format!("10.0.{}.{}", ip / 250, ip % 250),
                ..EndpointAddress::default()
            },
            port: Some(EndpointPort {
                port,
                ..EndpointPort::default()
            }),
            is_ready,
        }
    }

    fn shape(subsets: &[EndpointSubset]) -> Vec<[usize; 3]> {
        let shape = |subset: &EndpointSubset| {
            let len = |list: &Option<Vec<EndpointAddress>>| list.as_ref().map_or(0, Vec::len);
            let ports = subset.ports.as_ref().map_or(0, Vec::len);
            [
                len(&subset.addresses),
                len(&subset.not_ready_addresses),
                ports,
            ]
        };
        subsets.iter().map(shape).collect()
    }

    #[test]
    fn ports_of_the_same_addresses_are_one_subset() {
        let entries = vec![
            entry(1, 80, true),
            entry(2, 80, false),
            entry(1, 81, true),
            entry(2, 81, false),
            entry(1, 82, true),
        ];
        let subsets = pack(entries);
        assert_eq!(shape(&subsets), [[1, 0, 1], [1, 1, 2]]);
    }

    #[test]
    fn addresses_beyond_a_thousand_are_cut_off_and_those_that_are_not_ready_first() {
        let mut subsets = pack((0..1100).map(|i| entry(i, 80, i < 900)).collect());
        assert!(truncate(&mut subsets));
        assert_eq!(shape(&subsets), [[900, 100, 1]]);
        let mut subsets = pack((0..1100).map(|i| entry(i, 80, i < 1050)).collect());
        assert!(truncate(&mut subsets));
        assert_eq!(shape(&subsets), [[1000, 0, 1]]);
        let mut subsets = pack((0..1000).map(|i| entry(i, 80, true)).collect());
        assert!(!truncate(&mut subsets));
    }
}

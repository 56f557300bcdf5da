//! The distribution of endpoints over slices, with few changes.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use kube::ResourceExt;

/// The maximum number of endpoints in a slice.
pub(super) const MAX_ENDPOINTS: usize = 100;

/// The writes that make slices hold the desired endpoints.
#[derive(Debug, Default)]
pub(super) struct Packed {
    /// The endpoints of new slices.
    pub(super) create: Vec<Vec<Endpoint>>,
    pub(super) update: Vec<EndpointSlice>,
    pub(super) delete: Vec<EndpointSlice>,
}

/// Returns a text that is the same for equal ports in any order.
pub(in crate::workloads) fn port_key(ports: &[EndpointPort]) -> String {
    let mut ports: Vec<String> = ports.iter().map(|port| format!("{port:?}")).collect();
    ports.sort_unstable();
    ports.join(",")
}

/// Distributes endpoints over the slices of one set of ports. Existing endpoints stay in their slice; slices that change anyway
/// are filled; then the fullest that has room for the rest, or new ones.
pub(super) fn pack(
    existing: Vec<EndpointSlice>,
    desired: Vec<Endpoint>,
    most: usize,
    labels: &BTreeMap<String, String>,
) -> Packed {
    let mut packed = Packed::default();
    let mut order: Vec<Option<Endpoint>> = Vec::with_capacity(desired.len());
    let mut left: HashMap<String, usize> = HashMap::new();
    for endpoint in desired {
        left.entry(identity(&endpoint)).or_insert_with(|| {
            order.push(Some(endpoint));
            order.len() - 1
        });
    }
    let mut unchanged = Vec::new();
    for mut slice in existing {
        let known = slice.endpoints.take().unwrap_or_default();
        let mut kept = Vec::with_capacity(known.len());
        for endpoint in &known {
            let position = left.remove(&identity(endpoint));
            kept.extend(position.and_then(|position| order[position].take()));
        }
        let is_same = kept == known;
        let has_labels = slice.labels() == labels;
        slice.endpoints = Some(kept);
        slice.metadata.labels = Some(labels.clone());
        match (is_same, has_labels) {
            (true, true) => unchanged.push(slice),
            (false, _) if size(&slice) == 0 => packed.delete.push(slice),
            _ => packed.update.push(slice),
        }
    }
    let mut rest: Vec<Endpoint> = order.into_iter().flatten().rev().collect();
    packed
        .update
        .sort_by_key(|slice| std::cmp::Reverse(size(slice)));
    for slice in &mut packed.update {
        fill(slice.endpoints.get_or_insert_default(), &mut rest, most);
    }
    while !rest.is_empty() {
        let slices = unchanged.iter().enumerate();
        let fits = slices.filter_map(|(i, slice)| {
            let room = most.checked_sub(size(slice) + rest.len())?;
            (room < most).then_some((room, i))
        });
        match fits.min() {
            Some((_, i)) => {
                let mut slice = unchanged.remove(i);
                fill(slice.endpoints.get_or_insert_default(), &mut rest, most);
                packed.update.push(slice);
            }
            None => {
                let mut endpoints = Vec::new();
                fill(&mut endpoints, &mut rest, most);
                packed.create.push(endpoints);
            }
        }
    }
    packed
}

/// Returns the number of endpoints of a slice.
fn size(slice: &EndpointSlice) -> usize {
    slice.endpoints.as_ref().map_or(0, Vec::len)
}

fn fill(endpoints: &mut Vec<Endpoint>, rest: &mut Vec<Endpoint>, most: usize) {
    while endpoints.len() < most {
        match rest.pop() {
            Some(endpoint) => endpoints.push(endpoint),
            None => return,
        }
    }
}

/// Returns a text that identifies an endpoint, independent of its conditions.
fn identity(endpoint: &Endpoint) -> String {
    let target = endpoint.target_ref.as_ref();
    let name = target.map(|target| (&target.namespace, &target.name));
    format!("{:?}{:?}{name:?}", endpoint.addresses, endpoint.hostname)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(address: usize) -> Endpoint {
        Endpoint {
            addresses: vec![address.to_string()],
            ..Endpoint::default()
        }
    }

    fn slice(name: &str, addresses: std::ops::Range<usize>) -> EndpointSlice {
        let mut slice = EndpointSlice::default();
        slice.metadata.name = Some(name.to_owned());
        slice.metadata.labels = Some(BTreeMap::new());
        slice.endpoints = Some(addresses.map(endpoint).collect());
        slice
    }

    fn sizes(existing: Vec<EndpointSlice>, desired: std::ops::Range<usize>) -> [Vec<String>; 3] {
        let packed = pack(
            existing,
            desired.map(endpoint).collect(),
            10,
            &BTreeMap::new(),
        );
        let text = |slice: &EndpointSlice| format!("{} {}", slice.name_any(), size(slice));
        [
            packed
                .create
                .iter()
                .map(|new| new.len().to_string())
                .collect(),
            packed.update.iter().map(text).collect(),
            packed.delete.iter().map(text).collect(),
        ]
    }

    #[test]
    fn new_endpoints_fill_slices_one_after_the_other() {
        let none: Vec<String> = Vec::new();
        assert_eq!(
            sizes(vec![], 0..25),
            [
                vec!["10".to_owned(), "10".into(), "5".into()],
                none.clone(),
                none.clone()
            ]
        );
        assert_eq!(
            sizes(vec![slice("a", 0..5)], 0..5),
            [none.clone(), none.clone(), none]
        );
    }

    #[test]
    fn slices_that_change_anyway_are_filled_first_and_others_stay() {
        let existing = || vec![slice("a", 0..8), slice("b", 10..16), slice("c", 20..29)];
        // One that is gone makes room in its slice.
        let mut without = existing();
        without[1].endpoints.as_mut().unwrap()[0] = endpoint(99);
        let desired = (0..8)
            .chain(11..16)
            .chain(20..29)
            .chain(40..42)
            .map(endpoint)
            .collect();
        let packed = pack(without, desired, 10, &BTreeMap::new());
        assert_eq!((packed.create.len(), packed.update.len()), (0, 1));
        assert_eq!(size(&packed.update[0]), 7);
        // The fullest slice with enough room takes the rest.
        let desired = (0..8)
            .chain(10..16)
            .chain(20..29)
            .chain(40..42)
            .map(endpoint)
            .collect();
        let packed = pack(existing(), desired, 10, &BTreeMap::new());
        assert_eq!(packed.update[0].name_any(), "a");
        assert_eq!(packed.update.len(), 1);
    }

    #[test]
    fn empty_slices_are_deleted() {
        let [_, update, delete] = sizes(vec![slice("a", 0..5), slice("b", 5..9)], 0..4);
        assert_eq!(
            (update, delete),
            (vec!["a 4".to_owned()], vec!["b 0".to_owned()])
        );
    }
}

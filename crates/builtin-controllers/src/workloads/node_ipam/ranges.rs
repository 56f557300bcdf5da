//! [`Ranges`]: the ranges of addresses of a cluster.

use std::{
    collections::{BTreeSet, HashMap},
    net::Ipv4Addr,
};

/// The number of ranges in 10.244.0.0/16, with 256 addresses each.
const SMALL: u32 = 256;

/// The number of all ranges: the large ones begin at 10.128.0.0 too, and have 1024 addresses each.
const ALL: u32 = 8_192;

/// The large ranges that are in 10.244.0.0/16.
const TAKEN: std::ops::Range<u32> = 7_424..7_488;

/// The ranges of a cluster.
#[derive(Default)]
pub(super) struct Ranges {
    is_known: bool,
    used: BTreeSet<u32>,
    nodes: HashMap<String, u32>,
    /// The range to try next, so that none is used again at once.
    next: u32,
}

impl Ranges {
    /// Reports whether this is called for the first time.
    pub(super) fn is_new(&mut self) -> bool {
        !std::mem::replace(&mut self.is_known, true)
    }

    /// Records the range of a node. Ranges of other allocators are ignored.
    pub(super) fn occupy(&mut self, node: &str, ranges: &[String]) {
        let number = ranges.iter().find_map(|range| number_of(range));
        if let Some(number) = number {
            self.release(node);
            self.used.insert(number);
            self.nodes.insert(node.to_owned(), number);
        }
    }

    /// Gives a node a range, the same one if it asks again; `None` if there are none left.
    pub(super) fn allocate(&mut self, node: &str) -> Option<String> {
        if let Some(number) = self.nodes.get(node) {
            return Some(range_of(*number));
        }
        let free = |number: &u32| !TAKEN.contains(number) && !self.used.contains(number);
        let number = (self.next..ALL).chain(0..self.next).find(free)?;
        self.next = (number + 1) % ALL;
        self.used.insert(number);
        self.nodes.insert(node.to_owned(), number);
        Some(range_of(number))
    }

    /// Takes back the range of a node.
    pub(super) fn release(&mut self, node: &str) {
        if let Some(number) = self.nodes.remove(node) {
            self.used.remove(&number);
        }
    }
}

fn range_of(number: u32) -> String {
    let (base, size, bits) = shape_of(number);
    let first = Ipv4Addr::from_bits(base.to_bits().saturating_add(number.saturating_mul(size)));
    format!("{first}/{bits}")
}

fn number_of(range: &str) -> Option<u32> {
    let (first, bits) = range.split_once('/')?;
    let first = first.parse::<Ipv4Addr>().ok()?.to_bits();
    let number = |base: Ipv4Addr, size: u32| first.checked_sub(base.to_bits()).map(|at| at / size);
    let number = match bits {
        "24" => number(Ipv4Addr::new(10, 244, 0, 0), 256).filter(|number| *number < SMALL),
        "22" => number(Ipv4Addr::new(10, 128, 0, 0), 1024).filter(|n| (SMALL..ALL).contains(n)),
        _ => None,
    }?;
    (range_of(number) == range).then_some(number)
}

/// Returns the first address of all ranges like that one, their size, and their prefix length.
fn shape_of(number: u32) -> (Ipv4Addr, u32, u8) {
    match number < SMALL {
        true => (Ipv4Addr::new(10, 244, 0, 0), 256, 24),
        false => (Ipv4Addr::new(10, 128, 0, 0), 1024, 22),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_given_in_turn_and_not_twice() {
        let mut ranges = Ranges::default();
        assert!(ranges.is_new() && !ranges.is_new());
        ranges.occupy("old", &["10.244.1.0/24".to_owned()]);
        assert_eq!(ranges.allocate("a").unwrap(), "10.244.0.0/24");
        assert_eq!(ranges.allocate("b").unwrap(), "10.244.2.0/24");
        assert_eq!(ranges.allocate("a").unwrap(), "10.244.0.0/24");
        ranges.release("a");
        assert_eq!(ranges.allocate("c").unwrap(), "10.244.3.0/24");
    }

    #[test]
    fn large_clusters_have_large_ranges_that_do_not_overlap() {
        let mut ranges = Ranges::default();
        let all: Vec<String> = (0..)
            .map_while(|i| ranges.allocate(&format!("n{i}")))
            .collect();
        assert_eq!(all.len(), 8_192 - 64);
        assert_eq!(
            [&*all[255], &*all[256]],
            ["10.244.255.0/24", "10.132.0.0/22"]
        );
        let inside = |range: &&String| range.starts_with("10.244.") && range.ends_with("/22");
        assert_eq!(all.iter().filter(inside).count(), 0);
        for (number, range) in all.iter().enumerate().take(300) {
            assert_eq!(number_of(range), Some(number as u32));
        }
    }

    #[test]
    fn ranges_of_others_are_not_looked_at() {
        for range in [
            "10.244.0.0/16",
            "192.168.0.0/24",
            "10.244.0.7/24",
            "x",
            "fd00::/64",
        ] {
            assert_eq!(number_of(range), None, "{range}");
        }
    }
}

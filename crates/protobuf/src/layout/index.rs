//! The fields of a message by their JSON names.

use super::Name;

/// The fields of a message, in a hash table without deletions.
pub(super) struct Index {
    names: Box<[(Ends, Name)]>,
    /// For each hash, one more than an index in `names`, or 0. At most half of the places are taken, so that a search
    /// ends; a name whose place is taken is in one of the next.
    places: Box<[u16]>,
}

impl Index {
    pub(super) fn new(names: Vec<Name>) -> Self {
        let size = (names.len() * 2).next_power_of_two();
        let with_ends = |name: Name| (Ends::of(name.json.as_bytes()), name);
        let names: Box<[_]> = names.into_iter().map(with_ends).collect();
        let mut places = vec![0; size].into_boxed_slice();
        for ((ends, _), place) in names.iter().zip(1..) {
            let mut at = ends.hash() & (size - 1);
            while places[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            places[at] = place;
        }
        Self { names, places }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The number of fields that are on the wire.
    pub(super) fn carried(&self) -> usize {
        let carried = self.names.iter().filter(|(_, name)| name.shape.is_some());
        carried.count()
    }

    #[inline]
    pub(super) fn get(&self, json: &[u8]) -> Option<&Name> {
        let mask = self.places.len() - 1;
        let ends = Ends::of(json);
        let mut at = ends.hash() & mask;
        loop {
            let place = usize::from(self.places[at]);
            let (known, name) = self.names.get(place.checked_sub(1)?)?;
            if *known == ends && (ends.are_all() || name.json.as_bytes() == json) {
                return Some(name);
            }
            at = (at + 1) & mask;
        }
    }
}

/// The length of a name, its first and its last bytes, which are different in almost all names of a struct. They are all
/// of a name of up to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ends {
    first: u64,
    last: u64,
    length: usize,
}

impl Ends {
    #[inline]
    fn of(name: &[u8]) -> Self {
        let (first, last) = match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
            (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
            _ => match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
                (Some(first), Some(last)) => (
                    u32::from_le_bytes(*first).into(),
                    u32::from_le_bytes(*last).into(),
                ),
                _ => {
                    let all = name.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
                    (all, 0)
                }
            },
        };
        Self {
            first,
            last,
            length: name.len(),
        }
    }

    #[inline]
    fn are_all(self) -> bool {
        self.length <= 16
    }

    #[inline]
    fn hash(self) -> usize {
        let mixed = self.first ^ self.last.rotate_left(29) ^ self.length as u64;
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_no_other() {
        let names = [
            "",
            "a",
            "ab",
            "abc",
            "abd",
            "abcd",
            "abcdabcd",
            "abcdefghijklmnop",
            "abcdefghXijklmnop",
            "abcdefghYijklmnop",
        ];
        let list = names.iter().zip(0..).map(|(json, slot)| Name {
            json,
            slot,
            shape: None,
        });
        let index = Index::new(list.collect());
        for (name, slot) in names.iter().zip(0..) {
            let found = index.get(name.as_bytes()).expect("it is listed");
            assert_eq!((found.json, found.slot), (*name, slot));
        }
        for other in [
            "b",
            "ba",
            "abcda",
            "abcdefghZijklmnop",
            "abcdefghijklmno",
            "abcdefghXXijklmnop",
        ] {
            assert!(index.get(other.as_bytes()).is_none(), "{other}");
        }
        assert!(Index::new(Vec::new()).get(b"a").is_none());
    }
}

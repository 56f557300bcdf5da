//! The fields of a message by their JSON names.

use super::Name;

/// The fields of a message, in a hash table without deletions.
pub(super) struct Index {
    names: Box<[Name]>,
    /// For each hash, one more than an index in `names`, or 0. At most half of the places are taken, so that a search
    /// ends; a name whose place is taken is in one of the next.
    places: Box<[u16]>,
}

impl Index {
    pub(super) fn new(names: Vec<Name>) -> Self {
        let size = (names.len() * 2).next_power_of_two();
        let mut places = vec![0; size].into_boxed_slice();
        for (name, place) in names.iter().zip(1..) {
            let mut at = hash(name.json.as_bytes()) & (size - 1);
            while places[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            places[at] = place;
        }
        Self {
            names: names.into(),
            places,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The number of fields that are on the wire.
    pub(super) fn carried(&self) -> usize {
        let carried = self.names.iter().filter(|name| name.shape.is_some());
        carried.count()
    }

    #[inline]
    pub(super) fn get(&self, json: &[u8]) -> Option<&Name> {
        let mask = self.places.len() - 1;
        let mut at = hash(json) & mask;
        loop {
            let place = usize::from(self.places[at]);
            let name = self.names.get(place.checked_sub(1)?)?;
            if name.json.as_bytes() == json {
                return Some(name);
            }
            at = (at + 1) & mask;
        }
    }
}

/// Mixes the length with the first and the last bytes, which are different in almost all names of a struct.
#[inline]
fn hash(name: &[u8]) -> usize {
    let ends = match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(29)
        }
        _ => match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                u64::from(u32::from_le_bytes(*first))
                    ^ u64::from(u32::from_le_bytes(*last)).rotate_left(29)
            }
            _ => name
                .iter()
                .fold(0, |ends, byte| ends << 8 | u64::from(*byte)),
        },
    };
    let mixed = (ends ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as usize
}

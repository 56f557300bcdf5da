//! [`AbsentOwners`]: owners that are known not to exist, so that each of a thousand dependents does not ask again.

use std::collections::HashMap;

use super::identity::Identity;

/// The number of owners to remember.
const CAPACITY: usize = 500;

/// The owners that were looked for last and are not there.
#[derive(Debug, Default)]
pub(super) struct AbsentOwners {
    /// The owners, with the time of the last lookup of each.
    asked: HashMap<Identity, u64>,
    now: u64,
}

impl AbsentOwners {
    /// Remembers that there is none. Forgets the one that nobody has asked for the longest, if there are too many.
    pub(super) fn add(&mut self, owner: Identity) {
        self.now += 1;
        if self.asked.len() >= CAPACITY && !self.asked.contains_key(&owner) {
            let oldest = self.asked.iter().min_by_key(|(_, asked)| **asked);
            if let Some(oldest) = oldest.map(|(owner, _)| owner.clone()) {
                self.asked.remove(&oldest);
            }
        }
        self.asked.insert(owner, self.now);
    }

    /// Reports whether an owner is known to be absent.
    pub(super) fn has(&mut self, owner: &Identity) -> bool {
        self.now += 1;
        match self.asked.get_mut(owner) {
            Some(asked) => {
                *asked = self.now;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(number: usize) -> Identity {
        Identity {
            kind: "ConfigMap".into(),
            api_version: "v1".into(),
            namespace: "default".into(),
            name: "owner".into(),
            uid: number.to_string().into(),
        }
    }

    #[test]
    fn the_one_not_asked_for_the_longest_is_forgotten() {
        let mut absent = AbsentOwners::default();
        for number in 0..CAPACITY {
            absent.add(owner(number));
        }
        assert!(absent.has(&owner(0)));
        absent.add(owner(CAPACITY));
        assert!(absent.has(&owner(0)));
        assert!(!absent.has(&owner(1)));
        assert!(absent.has(&owner(2)));
    }
}

//! [`AbsentOwners`]: a cache of owners that do not exist, so that a thousand dependents do not each ask for theirs.

use std::collections::HashMap;

use super::identity::Identity;

/// The capacity of the cache.
const CAPACITY: usize = 500;

/// The owners that were recently looked up and do not exist.
#[derive(Debug, Default)]
pub(super) struct AbsentOwners {
    /// The time at which each was last asked for.
    asked: HashMap<Identity, u64>,
    now: u64,
}

impl AbsentOwners {
    /// Records that an owner does not exist. Evicts the least recently used entry if the cache is full.
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

    /// Returns whether the owner is known not to exist.
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

//! [`Graph`]: the ownership graph, as far as watches have shown it.
//!
//! A node represents an object. A node that no watch has shown, but that a dependent names as its owner, is *virtual*:
//! its coordinates are those that the dependent gives, and dependents may disagree. The graph does no I/O and never
//! waits: a change returns its consequences, which the collector carries out.

use std::collections::{HashMap, HashSet};

use super::{
    absent::AbsentOwners,
    identity::{Deletion, Identity, ObjectKind, OwnerRef, Uid},
};

#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: HashMap<Uid, Node>,
    /// Owners that do not exist.
    pub(super) absent: AbsentOwners,
}

/// A node: everything known about an object.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) identity: Identity,
    pub(super) owners: Vec<OwnerRef>,
    pub(super) being_deleted: bool,
    /// True if its deletion waits for that of its dependents.
    pub(super) deleting_dependents: bool,
    /// True if its deletion waits until its dependents are orphaned.
    pub(super) orphaning: bool,
    /// True if no watch has shown it.
    pub(super) is_virtual: bool,
    pub(super) dependents: HashSet<Uid>,
}

/// The consequences of a change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Follows {
    /// Objects to process.
    pub(super) attempt: Vec<Uid>,
    /// Objects to process after a delay.
    pub(super) later: Vec<Uid>,
    /// A dependent that names an owner in another namespace, and that owner as named.
    pub(super) invalid: Vec<(Identity, Identity)>,
}

/// Dependents, by whether they name an owner by its actual coordinates. A dependent with several references may be in
/// both sets.
struct Parted {
    matching: Vec<Uid>,
    others: Vec<Uid>,
}

impl Graph {
    /// Returns the node of an object.
    pub(super) fn node(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// Returns the number of objects.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Applies an event that shows an object; `before` is the state that the watch showed last, if any.
    pub(super) fn observe(
        &mut self,
        identity: Identity,
        owners: Vec<OwnerRef>,
        deletion: Deletion,
        before: Option<Deletion>,
    ) -> Follows {
        let mut follows = Follows::default();
        let uid = identity.uid.clone();
        self.recognise(&identity, &mut follows);
        if let Some(node) = self.nodes.get_mut(&uid) {
            node.identity = identity;
            node.being_deleted |= deletion.begun;
            let old = std::mem::replace(&mut node.owners, owners.clone());
            self.change_owners(&uid, &old, &owners, &mut follows);
        } else {
            let node = Node {
                identity,
                owners: owners.clone(),
                being_deleted: deletion.begun,
                deleting_dependents: deletion.foreground,
                orphaning: false,
                is_virtual: false,
                dependents: HashSet::new(),
            };
            self.nodes.insert(uid.clone(), node);
            self.join_owners(&uid, &owners, &mut follows);
        }
        self.begin_deletion(&uid, deletion, before.unwrap_or_default(), &mut follows);
        follows
    }

    /// Applies an event that shows the deletion of an object.
    pub(super) fn remove(&mut self, identity: &Identity) -> Follows {
        let mut follows = Follows::default();
        self.recognise(identity, &mut follows);
        self.take_out(identity, &mut follows);
        follows
    }

    /// Records that the server does not have an object, regardless of the watches.
    pub(super) fn remove_unseen(&mut self, identity: &Identity) -> Follows {
        let mut follows = Follows::default();
        let Some(node) = self.nodes.get(&identity.uid) else {
            return follows;
        };
        let parted = self.part(&node.dependents, identity);
        let keep = if node.is_virtual {
            !parted.others.is_empty()
        } else {
            // A watch knows the coordinates of the object better.
            node.identity != *identity
        };
        if !keep {
            self.take_out(identity, &mut follows);
            return follows;
        }
        if !parted.matching.is_empty() {
            self.absent.add(identity.clone());
            follows.attempt.extend(parted.matching);
        }
        if node_is(&self.nodes, identity)
            && let Some(other) = self.other_identity(&parted.others, identity)
            && let Some(node) = self.nodes.get_mut(&identity.uid)
        {
            // Some dependents use other coordinates: it may exist under those.
            node.identity = other;
            follows.later.push(identity.uid.clone());
        }
        follows
    }

    /// Returns the objects of a kind.
    pub(super) fn of_kind(&self, kind: &ObjectKind) -> Vec<Identity> {
        let nodes = self.nodes.values().map(|node| &node.identity);
        nodes
            .filter(|object| object.api_version == kind.api_version && object.kind == kind.kind)
            .cloned()
            .collect()
    }

    /// Records that the dependents of an object were orphaned.
    pub(super) fn orphaned(&mut self, uid: &str) {
        if let Some(node) = self.nodes.get_mut(uid) {
            node.orphaning = false;
        }
    }

    /// Returns the dependents of an object.
    pub(super) fn dependents(&self, uid: &str) -> Vec<&Node> {
        let node = self.nodes.get(uid);
        let dependents = node.into_iter().flat_map(|node| &node.dependents);
        dependents.filter_map(|uid| self.nodes.get(uid)).collect()
    }

    /// Returns the dependents that block the deletion of an object.
    pub(super) fn blocking_dependents(&self, uid: &str) -> Vec<&Node> {
        let mut dependents = self.dependents(uid);
        dependents.retain(|dependent| {
            let mut owners = dependent.owners.iter();
            owners.any(|owner| *owner.uid == *uid && owner.blocks)
        });
        dependents
    }

    /// Turns a virtual node into a real one, and enqueues dependents that named it by other coordinates.
    fn recognise(&mut self, identity: &Identity, follows: &mut Follows) {
        let Some(node) = self.nodes.get(&identity.uid).filter(|n| n.is_virtual) else {
            return;
        };
        if node.identity != *identity {
            for uid in self.part(&node.dependents, identity).others {
                if identity.is_namespaced() {
                    follows.invalid.extend(self.invalid(&uid, identity));
                }
                follows.attempt.push(uid);
            }
        }
        if let Some(node) = self.nodes.get_mut(&identity.uid) {
            node.identity = identity.clone();
            node.is_virtual = false;
        }
    }

    /// Returns a dependent whose owner is in another namespace, with that owner as the dependent names it.
    fn invalid(&self, dependent: &str, owner: &Identity) -> Option<(Identity, Identity)> {
        let dependent = self.nodes.get(dependent)?;
        if dependent.identity.namespace == owner.namespace {
            return None;
        }
        let named = dependent.owners.iter().find(|o| o.uid == owner.uid)?;
        let named = named.seen_from(&dependent.identity.namespace);
        Some((dependent.identity.clone(), named))
    }

    /// Adds an object to the dependents of its owners.
    fn join_owners(&mut self, uid: &Uid, owners: &[OwnerRef], follows: &mut Follows) {
        let Some(namespace) = self.nodes.get(uid).map(|n| n.identity.namespace.clone()) else {
            return;
        };
        let mut doubtful = false;
        for owner in owners {
            let Some(node) = self.nodes.get_mut(&owner.uid) else {
                let identity = owner.seen_from(&namespace);
                let node = Node::unseen(identity, uid.clone());
                self.nodes.insert(owner.uid.clone(), node);
                follows.attempt.push(owner.uid.clone());
                continue;
            };
            node.dependents.insert(uid.clone());
            if doubtful {
                continue;
            }
            let elsewhere = node.identity.namespace != namespace;
            if node.identity.is_namespaced() && elsewhere {
                doubtful = true;
                if !node.is_virtual {
                    let owner = node.identity.clone();
                    follows.invalid.extend(self.invalid(uid, &owner));
                }
            } else if !node.identity.is_named_by(owner) || (elsewhere && node.is_virtual) {
                // The coordinates differ, or a cluster-scoped dependent names a namespaced owner.
                doubtful = true;
            }
        }
        if doubtful {
            follows.attempt.push(uid.clone());
        }
    }

    fn leave_owners<'a>(&mut self, uid: &str, owners: impl IntoIterator<Item = &'a OwnerRef>) {
        for owner in owners {
            if let Some(node) = self.nodes.get_mut(&owner.uid) {
                node.dependents.remove(uid);
            }
        }
    }

    fn change_owners(
        &mut self,
        uid: &Uid,
        old: &[OwnerRef],
        new: &[OwnerRef],
        follows: &mut Follows,
    ) {
        if old == new {
            return;
        }
        let added: Vec<OwnerRef> = new
            .iter()
            .filter(|owner| !old.iter().any(|other| other.uid == owner.uid))
            .cloned()
            .collect();
        let removed = old
            .iter()
            .filter(|owner| !new.iter().any(|other| other.uid == owner.uid));
        for owner in old.iter().filter(|owner| owner.blocks) {
            let still = new.iter().find(|other| other.uid == owner.uid);
            // An owner that waits for its dependents may have waited for this one only.
            if still.is_none_or(|other| !other.blocks) && self.nodes.contains_key(&owner.uid) {
                follows.attempt.push(owner.uid.clone());
            }
        }
        self.join_owners(uid, &added, follows);
        self.leave_owners(uid, removed);
    }

    /// Returns what the deletion of an object waits for, if the deletion has just begun.
    fn begin_deletion(
        &mut self,
        uid: &Uid,
        deletion: Deletion,
        before: Deletion,
        follows: &mut Follows,
    ) {
        let Some(node) = self.nodes.get_mut(uid) else {
            return;
        };
        if deletion.orphan && !before.orphan {
            node.orphaning = true;
            follows.attempt.push(uid.clone());
        } else if !deletion.orphan && deletion.foreground && !before.foreground {
            node.deleting_dependents = true;
            follows.attempt.extend(node.dependents.iter().cloned());
            follows.attempt.push(uid.clone());
        }
    }

    /// Removes an object from the graph, and enqueues its dependents and the owners that wait for it.
    fn take_out(&mut self, identity: &Identity, follows: &mut Follows) {
        let Some(node) = self.nodes.remove(&identity.uid) else {
            return;
        };
        self.leave_owners(&identity.uid, &node.owners);
        if !node.dependents.is_empty() {
            self.absent.add(identity.clone());
            follows.attempt.extend(node.dependents);
        }
        for owner in node.owners {
            let waits = |node: &Node| node.deleting_dependents;
            if self.nodes.get(&owner.uid).is_some_and(waits) {
                follows.attempt.push(owner.uid);
            }
        }
    }

    fn part(&self, dependents: &HashSet<Uid>, owner: &Identity) -> Parted {
        let mut parted = Parted {
            matching: Vec::new(),
            others: Vec::new(),
        };
        for (uid, node) in dependents
            .iter()
            .filter_map(|u| self.nodes.get_key_value(u))
        {
            if owner.is_namespaced() && owner.namespace != node.identity.namespace {
                parted.others.push(uid.clone());
                continue;
            }
            let mut named = node.owners.iter().filter(|o| o.uid == owner.uid);
            if named.clone().any(|o| owner.is_named_by(o)) {
                parted.matching.push(uid.clone());
            }
            if named.any(|o| !owner.is_named_by(o)) {
                parted.others.push(uid.clone());
            }
        }
        parted
    }

    /// Returns the next alternative coordinates that dependents give for a missing owner, wrapping around at the end.
    fn other_identity(&self, dependents: &[Uid], absent: &Identity) -> Option<Identity> {
        let mut first: Option<Identity> = None;
        let mut following: Option<Identity> = None;
        for dependent in dependents.iter().filter_map(|uid| self.nodes.get(uid)) {
            let namespace = &dependent.identity.namespace;
            for owner in dependent.owners.iter().filter(|o| o.uid == absent.uid) {
                let mut other = owner.seen_from(namespace);
                if !absent.is_namespaced()
                    && other.kind == absent.kind
                    && other.api_version == absent.api_version
                {
                    // The kind is known to be cluster-scoped.
                    other.namespace = absent.namespace.clone();
                }
                if other == *absent {
                    continue;
                }
                if first.as_ref().is_none_or(|first| other < *first) {
                    first = Some(other.clone());
                }
                if other > *absent && following.as_ref().is_none_or(|next| other < *next) {
                    following = Some(other);
                }
            }
        }
        following.or(first)
    }
}

impl Node {
    fn unseen(identity: Identity, dependent: Uid) -> Self {
        Self {
            identity,
            owners: Vec::new(),
            being_deleted: false,
            deleting_dependents: false,
            orphaning: false,
            is_virtual: true,
            dependents: HashSet::from([dependent]),
        }
    }
}

impl Follows {
    /// Returns whether there are no consequences.
    pub(super) fn is_empty(&self) -> bool {
        self.attempt.is_empty() && self.later.is_empty() && self.invalid.is_empty()
    }
}

fn node_is(nodes: &HashMap<Uid, Node>, identity: &Identity) -> bool {
    let node = nodes.get(&identity.uid);
    node.is_some_and(|node| node.is_virtual && node.identity == *identity)
}

#[cfg(test)]
mod tests;

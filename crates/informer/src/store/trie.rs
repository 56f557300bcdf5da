//! A persistent map: cloning is free, and a change copies the few nodes on its path that are shared.
//!
//! A hash trie, sixteen ways, with small leaves. Values are stored with their hashes, so that a search compares no other value
//! than the right one: each would be a wait for memory. The hash is seeded per process, so that names cannot be chosen
//! to collide.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

/// A value of a [`Trie`], which knows its own key.
pub(crate) trait Keyed: Clone {
    fn text_key(&self) -> &str;
}

/// The map.
#[derive(Debug)]
pub(crate) struct Trie<T> {
    root: Option<Arc<Node<T>>>,
    length: usize,
}

#[derive(Clone, Debug)]
enum Node<T> {
    /// Values with their hashes.
    Leaf(Vec<(u64, T)>),
    Branch(Box<[Option<Arc<Node<T>>>; WAYS]>),
}

/// Iterates over all values.
pub(crate) struct Iter<'a, T> {
    nodes: Vec<&'a Node<T>>,
    leaf: std::slice::Iter<'a, (u64, T)>,
}

const BITS: u32 = 4;
const WAYS: usize = 1 << BITS;
/// The number of values of a leaf before it becomes a branch.
const LEAF: usize = 16;
/// At this depth the hash is used up, and leaves grow.
const MAX_SHIFT: u32 = 64;

static SEED: LazyLock<(RandomState, foldhash::fast::FixedState)> = LazyLock::new(|| {
    let random = RandomState::new();
    let seed = random.hash_one("trie");
    (random, foldhash::fast::FixedState::with_seed(seed))
});

impl<T: Keyed> Trie<T> {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(crate) fn get(&self, key: &str) -> Option<&T> {
        let hash = hash(key);
        let mut rest = hash;
        let mut node = self.root.as_deref()?;
        loop {
            match node {
                Node::Leaf(values) => {
                    let at = position(values, hash, key)?;
                    return values.get(at).map(|(_, value)| value);
                }
                Node::Branch(children) => {
                    node = children[way(rest)].as_deref()?;
                    rest >>= BITS;
                }
            }
        }
    }

    /// Inserts a value, and returns the one with the same key.
    pub(crate) fn insert(&mut self, value: T) -> Option<T> {
        let hash = hash(value.text_key());
        let root = self
            .root
            .get_or_insert_with(|| Arc::new(Node::Leaf(Vec::new())));
        let old = insert(root, (hash, value), 0);
        self.length += usize::from(old.is_none());
        old
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<T> {
        let root = self.root.as_mut()?;
        let (old, empty) = remove(root, key, hash(key), 0);
        if empty {
            self.root = None;
        }
        self.length -= usize::from(old.is_some());
        old
    }

    pub(crate) fn iter(&self) -> Iter<'_, T> {
        Iter {
            nodes: self.root.as_deref().into_iter().collect(),
            leaf: [].iter(),
        }
    }
}

impl<T> Default for Trie<T> {
    fn default() -> Self {
        Self {
            root: None,
            length: 0,
        }
    }
}

impl<T> Clone for Trie<T> {
    fn clone(&self) -> Self {
        Self {
            root: self.root.clone(),
            length: self.length,
        }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some((_, value)) = self.leaf.next() {
                return Some(value);
            }
            match self.nodes.pop()? {
                Node::Leaf(values) => self.leaf = values.iter(),
                Node::Branch(children) => {
                    self.nodes
                        .extend(children.iter().rev().filter_map(Option::as_deref));
                }
            }
        }
    }
}

fn hash(key: &str) -> u64 {
    SEED.1.hash_one(key)
}

fn way(hash: u64) -> usize {
    (hash & (WAYS as u64 - 1)) as usize
}

fn position<T: Keyed>(values: &[(u64, T)], hash: u64, key: &str) -> Option<usize> {
    values
        .iter()
        .position(|(other, value)| *other == hash && value.text_key() == key)
}

/// The recursion is at most as deep as the hash has digits.
fn insert<T: Keyed>(node: &mut Arc<Node<T>>, new: (u64, T), shift: u32) -> Option<T> {
    match Arc::make_mut(node) {
        Node::Branch(children) => match &mut children[way(new.0 >> shift)] {
            Some(child) => insert(child, new, shift + BITS),
            empty => {
                *empty = Some(Arc::new(Node::Leaf(vec![new])));
                None
            }
        },
        Node::Leaf(values) => {
            if let Some(at) = position(values, new.0, new.1.text_key()) {
                return values
                    .get_mut(at)
                    .map(|(_, old)| std::mem::replace(old, new.1));
            }
            if values.len() < LEAF || shift >= MAX_SHIFT {
                values.push(new);
                return None;
            }
            let mut branch: Box<[Option<Arc<Node<T>>>; WAYS]> = Box::default();
            for value in values.drain(..).chain([new]) {
                let way = way(value.0 >> shift);
                match branch[way].as_mut().and_then(Arc::get_mut) {
                    Some(Node::Leaf(leaf)) => leaf.push(value),
                    _ => branch[way] = Some(Arc::new(Node::Leaf(vec![value]))),
                }
            }
            *Arc::make_mut(node) = Node::Branch(branch);
            None
        }
    }
}

/// Returns the removed value, and whether the node is empty now.
fn remove<T: Keyed>(
    node: &mut Arc<Node<T>>,
    key: &str,
    hash: u64,
    shift: u32,
) -> (Option<T>, bool) {
    // Nothing is copied for a missing key.
    let there = match &**node {
        Node::Leaf(values) => position(values, hash, key).is_some(),
        Node::Branch(children) => children[way(hash >> shift)].is_some(),
    };
    if !there {
        return (None, false);
    }
    match Arc::make_mut(node) {
        Node::Leaf(values) => {
            let at = position(values, hash, key);
            let old = at.map(|at| values.swap_remove(at).1);
            (old, values.is_empty())
        }
        Node::Branch(children) => {
            let slot = &mut children[way(hash >> shift)];
            let Some(child) = slot else {
                return (None, false);
            };
            let (old, empty) = remove(child, key, hash, shift + BITS);
            if empty {
                *slot = None;
            }
            (old, empty && children.iter().all(Option::is_none))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Entry(String, u32);

    impl Keyed for Entry {
        fn text_key(&self) -> &str {
            &self.0
        }
    }

    proptest! {
        #[test]
        fn it_is_a_map_whose_copies_do_not_change(steps in prop::collection::vec((0u32..600, any::<u32>(), 0u8..4), 0..3000)) {
            let mut trie = Trie::default();
            let mut model = BTreeMap::new();
            let mut copies = Vec::new();
            for (i, (key, value, what)) in steps.into_iter().enumerate() {
                let key = format!("key-{key}");
                if what == 0 {
                    prop_assert_eq!(trie.remove(&key).map(|e: Entry| e.1), model.remove(&key));
                } else {
                    prop_assert_eq!(trie.insert(Entry(key.clone(), value)).map(|e| e.1), model.insert(key.clone(), value));
                }
                prop_assert_eq!(trie.get(&key).map(|e| e.1), model.get(&key).copied());
                prop_assert_eq!(trie.len(), model.len());
                if i % 500 == 0 {
                    copies.push((trie.clone(), model.clone()));
                }
            }
            copies.push((trie, model));
            for (trie, model) in copies {
                let mut all: Vec<_> = trie.iter().map(|e| (e.0.clone(), e.1)).collect();
                all.sort();
                prop_assert_eq!(all, model.into_iter().collect::<Vec<_>>());
            }
        }
    }
}

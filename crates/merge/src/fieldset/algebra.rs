//! Union, intersection and the two differences.

use super::{FieldSet, Node};
use std::cmp::Ordering;
use std::sync::Arc;

/// A node of one set, of the other, or of both.
enum Pair<'a> {
    Left(&'a Node),
    Right(&'a Node),
    Both(&'a Node, &'a Node),
}

impl FieldSet {
    /// Returns the union of two sets.
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        if other.is_empty() {
            return self.clone();
        }
        if self.is_empty() {
            return other.clone();
        }
        let nodes = zip(self, other).map(|pair| match pair {
            Pair::Left(node) | Pair::Right(node) => node.clone(),
            Pair::Both(a, b) => {
                let mut node = a.clone();
                node.absorb(b.clone());
                node
            }
        });
        FieldSet {
            nodes: nodes.collect(),
        }
    }

    /// Returns the intersection of two sets.
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        let nodes = zip(self, other).filter_map(|pair| {
            let Pair::Both(a, b) = pair else { return None };
            let member = a.member && b.member;
            match (&a.below, &b.below) {
                (Some(x), Some(y)) if Arc::ptr_eq(x, y) => kept(a, member, Some(x.clone())),
                (Some(x), Some(y)) => Node::new(a.element.clone(), member, Some(x.intersection(y))),
                _ => kept(a, member, None),
            }
        });
        FieldSet {
            nodes: nodes.collect(),
        }
    }

    /// Returns the members of this set that are not in the other. A member of `other` removes just that path and
    /// nothing below it.
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        if other.is_empty() {
            return self.clone();
        }
        let nodes = zip(self, other).filter_map(|pair| match pair {
            Pair::Left(node) => Some(node.clone()),
            Pair::Right(_) => None,
            Pair::Both(a, b) => {
                let member = a.member && !b.member;
                match (&a.below, &b.below) {
                    (Some(below), Some(other)) => {
                        Node::new(a.element.clone(), member, Some(below.difference(other)))
                    }
                    (below, _) => kept(a, member, below.clone()),
                }
            }
        });
        FieldSet {
            nodes: nodes.collect(),
        }
    }

    /// Returns the members of this set that are neither in the other nor below one of its members.
    pub fn recursive_difference(&self, other: &FieldSet) -> FieldSet {
        if other.is_empty() {
            return self.clone();
        }
        let nodes = zip(self, other).filter_map(|pair| match pair {
            Pair::Left(node) => Some(node.clone()),
            Pair::Right(_) => None,
            Pair::Both(_, b) if b.member => None,
            Pair::Both(a, b) => match (&a.below, &b.below) {
                (Some(below), Some(other)) => Node::new(
                    a.element.clone(),
                    a.member,
                    Some(below.recursive_difference(other)),
                ),
                _ => Some(a.clone()),
            },
        });
        FieldSet {
            nodes: nodes.collect(),
        }
    }

    /// Reports whether every member of this set is in the other.
    pub fn is_subset(&self, other: &FieldSet) -> bool {
        self.difference(other).is_empty()
    }
}

fn kept(node: &Node, member: bool, below: Option<Arc<FieldSet>>) -> Option<Node> {
    (member || below.is_some()).then(|| Node {
        element: node.element.clone(),
        member,
        below,
    })
}

/// The nodes of two sets, in order.
fn zip<'a>(left: &'a FieldSet, right: &'a FieldSet) -> impl Iterator<Item = Pair<'a>> {
    let mut left = left.nodes.iter().peekable();
    let mut right = right.nodes.iter().peekable();
    std::iter::from_fn(move || {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.element.cmp(&b.element),
        };
        match order {
            Ordering::Less => left.next().map(Pair::Left),
            Ordering::Greater => right.next().map(Pair::Right),
            Ordering::Equal => left.next().zip(right.next()).map(|(a, b)| Pair::Both(a, b)),
        }
    })
}

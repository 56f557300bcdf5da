//! Sets of field paths.
//!
//! A [`FieldSet`] is a tree. Each node has a [`PathElement`], says whether the path that ends there is a *member*, and
//! holds the paths below it. Membership does not spread: `a` and `a.b` are two members, and `a.b` may be in a set that
//! lacks `a`.
//!
//! [`FieldSet::from_json`] and [`FieldSet::write_json`] read and write `FieldsV1`, the encoding in
//! `metadata.managedFields`.
//!
//! Invariants: siblings are sorted and unique, no node is without members at or below it, no path is longer than
//! [`VALUE_DEPTH`]. Subtrees are shared between sets, so a set operation copies only what it changes.

mod algebra;
mod codec;
mod element;
mod filter;
mod order;
#[cfg(test)]
mod tests;
mod value_text;

pub use codec::DecodeError;
pub use element::{FieldName, KeyField, Path, PathElement};
pub use filter::{Filter, Pattern};
pub(crate) use order::{compare as compare_values, equal, is_zero_length_map};

use crate::schema::{Schema, Shape};
use kubewright_machinery::limits::VALUE_DEPTH;
use std::fmt;
use std::sync::Arc;

/// A set of field paths.
///
/// ```
/// use kubewright_merge::fieldset::{FieldSet, Path};
///
/// let mine = FieldSet::from_json(r#"{"f:spec":{"f:size":{},"f:colour":{}}}"#)?;
/// let theirs = FieldSet::from_json(r#"{"f:spec":{"f:size":{}}}"#)?;
/// let shared = mine.intersection(&theirs);
/// assert!(shared.contains(Path::of_fields(["spec", "size"]).as_ref()));
/// assert_eq!(mine.difference(&theirs).to_json(), r#"{"f:spec":{"f:colour":{}}}"#);
/// # Ok::<(), kubewright_merge::fieldset::DecodeError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    nodes: Vec<Node>,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) element: PathElement,
    pub(crate) member: bool,
    /// The paths below; never an empty set.
    pub(crate) below: Option<Arc<FieldSet>>,
}

impl FieldSet {
    /// Creates an empty set.
    pub const fn new() -> Self {
        FieldSet { nodes: Vec::new() }
    }

    /// Creates an empty set with capacity for `elements` at its top.
    pub(crate) fn with_capacity(elements: usize) -> Self {
        FieldSet {
            nodes: Vec::with_capacity(elements),
        }
    }

    /// Reports whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.nodes
            .iter()
            .map(|n| usize::from(n.member) + n.below.as_ref().map_or(0, |below| below.len()))
            .sum()
    }

    /// Adds a path; its parents are not added. Returns false if nothing changed: the path was there, is empty, or is
    /// longer than [`VALUE_DEPTH`].
    pub fn insert(&mut self, path: &[PathElement]) -> bool {
        if path.len() > VALUE_DEPTH {
            return false;
        }
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        let at = match self.position(first) {
            Ok(at) => at,
            Err(at) => {
                self.nodes.insert(
                    at,
                    Node {
                        element: first.clone(),
                        member: false,
                        below: None,
                    },
                );
                at
            }
        };
        let Some(node) = self.nodes.get_mut(at) else {
            return false;
        };
        if rest.is_empty() {
            return !std::mem::replace(&mut node.member, true);
        }
        Arc::make_mut(node.below.get_or_insert_default()).insert(rest)
    }

    /// Reports whether the path is a member.
    pub fn contains(&self, path: &[PathElement]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        let Some(node) = self.node(first) else {
            return false;
        };
        if rest.is_empty() {
            return node.member;
        }
        node.below
            .as_ref()
            .is_some_and(|below| below.contains(rest))
    }

    /// Calls `visit` for each member. At each level the members come first and then the paths below them, which is the
    /// order in which Kubernetes lists conflicts.
    pub fn for_each(&self, mut visit: impl FnMut(&[PathElement])) {
        self.walk(&mut Vec::new(), &mut visit);
    }

    /// Returns all members, in the order of [`FieldSet::for_each`].
    pub fn paths(&self) -> Vec<Path> {
        let mut out = Vec::new();
        self.for_each(|path| out.push(Path(path.to_vec())));
        out
    }

    /// Returns the members that have no members below them.
    pub fn leaves(&self) -> FieldSet {
        let nodes = self.nodes.iter().filter_map(|node| {
            let below = node.below.as_ref().map(|below| below.leaves());
            Node::new(node.element.clone(), node.member && below.is_none(), below)
        });
        FieldSet {
            nodes: nodes.collect(),
        }
    }

    /// Adds every struct field that has members below it as a member. Map entries and list items are not
    /// added.
    pub fn ensure_named_fields<S: Schema>(&self, schema: S) -> FieldSet {
        self.ensure_named(Some(schema))
    }

    fn ensure_named<S: Schema>(&self, schema: Option<S>) -> FieldSet {
        let shape = schema.map(|s| s.shape());
        let nodes = self.nodes.iter().map(|node| {
            let Some(below) = &node.below else {
                return node.clone();
            };
            let mut member = node.member;
            let inner = match (&node.element, &shape) {
                (PathElement::FieldName(name), Some(Shape::Struct { element, .. })) => {
                    let field = schema.and_then(|s| s.field(name));
                    member |= field.is_some();
                    field.or(*element)
                }
                (PathElement::FieldName(_), Some(Shape::Map { item, .. })) => Some(*item),
                (PathElement::Key(_), Some(Shape::List { item, .. })) => Some(*item),
                (PathElement::FieldName(_), Some(Shape::Deduced | Shape::Untyped)) => schema,
                _ => None,
            };
            let below = Some(Arc::new(below.ensure_named(inner)));
            Node {
                element: node.element.clone(),
                member,
                below,
            }
        });
        FieldSet {
            nodes: nodes.collect(),
        }
    }

    fn walk(&self, prefix: &mut Vec<PathElement>, visit: &mut impl FnMut(&[PathElement])) {
        for node in self.nodes.iter().filter(|n| n.member) {
            prefix.push(node.element.clone());
            visit(prefix);
            prefix.pop();
        }
        for node in &self.nodes {
            if let Some(below) = &node.below {
                prefix.push(node.element.clone());
                below.walk(prefix, visit);
                prefix.pop();
            }
        }
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn node(&self, element: &PathElement) -> Option<&Node> {
        self.position(element)
            .ok()
            .and_then(|at| self.nodes.get(at))
    }

    /// The node of a field, without making an element of its name.
    pub(crate) fn field_node(&self, name: &str) -> Option<&Node> {
        let at = self.nodes.binary_search_by(|n| match &n.element {
            PathElement::FieldName(field) => (**field).cmp(name),
            _ => std::cmp::Ordering::Greater,
        });
        at.ok().and_then(|at| self.nodes.get(at))
    }

    /// Adds a node with everything below it; cheap when nodes are added in order.
    pub(crate) fn push(&mut self, element: PathElement, member: bool, below: FieldSet) {
        let Some(node) = Node::new(element, member, Some(below)) else {
            return;
        };
        if self
            .nodes
            .last()
            .is_none_or(|last| last.element < node.element)
        {
            self.nodes.push(node);
            return;
        }
        match self.position(&node.element) {
            Err(at) => self.nodes.insert(at, node),
            Ok(at) => {
                if let Some(found) = self.nodes.get_mut(at) {
                    found.absorb(node);
                }
            }
        }
    }

    fn position(&self, element: &PathElement) -> Result<usize, usize> {
        self.nodes.binary_search_by(|n| n.element.cmp(element))
    }
}

impl Node {
    /// Creates a node, unless it would be empty.
    fn new(element: PathElement, member: bool, below: Option<FieldSet>) -> Option<Node> {
        let below = below.filter(|below| !below.is_empty()).map(Arc::new);
        (member || below.is_some()).then_some(Node {
            element,
            member,
            below,
        })
    }

    fn absorb(&mut self, other: Node) {
        self.member |= other.member;
        self.below = match (self.below.take(), other.below) {
            (Some(a), Some(b)) => Some(Arc::new(a.union(&b))),
            (a, b) => a.or(b),
        };
    }
}

impl<P: AsRef<[PathElement]>> FromIterator<P> for FieldSet {
    fn from_iter<I: IntoIterator<Item = P>>(paths: I) -> Self {
        let mut set = FieldSet::new();
        for path in paths {
            set.insert(path.as_ref());
        }
        set
    }
}

impl fmt::Debug for FieldSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.paths().iter().map(ToString::to_string))
            .finish()
    }
}

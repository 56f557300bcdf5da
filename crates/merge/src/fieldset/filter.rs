//! Filters, which select the paths of a set that count for an endpoint.
//!
//! The main endpoint of a kind does not let a writer own `status`, its status endpoint not `spec`; a few endpoints let
//! a writer own only what they are for.

use super::{FieldSet, Node, PathElement};

/// A filter of paths.
///
/// ```
/// use kubewright_merge::fieldset::{FieldSet, Filter, Path, PathElement, Pattern};
///
/// let set: FieldSet = [Path::of_fields(["spec", "size"]), Path::of_fields(["status"])]
///     .into_iter()
///     .collect();
/// let status: FieldSet = [Path::of_fields(["status"])].into_iter().collect();
/// assert_eq!(Filter::Exclude(status).apply(&set).len(), 1);
///
/// let spec = Pattern::prefix([Some(PathElement::field("spec"))]);
/// assert_eq!(Filter::Include(spec).apply(&set).paths()[0].to_string(), ".spec.size");
/// ```
#[derive(Clone, Debug)]
pub enum Filter {
    /// Keeps all paths but these and those below them.
    Exclude(FieldSet),
    /// Keeps the paths that one of these patterns matches.
    Include(Pattern),
}

/// A tree of path elements, some of which match anything.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    everything: bool,
    /// `None` matches any element.
    branches: Vec<(Option<PathElement>, Pattern)>,
}

impl Filter {
    /// Returns the paths of `set` that the filter keeps.
    pub fn apply(&self, set: &FieldSet) -> FieldSet {
        match self {
            Filter::Exclude(excluded) => set.recursive_difference(excluded),
            Filter::Include(pattern) => pattern.select(set),
        }
    }
}

impl Pattern {
    /// Creates a pattern that matches all paths with this prefix; `None` matches any element.
    pub fn prefix(elements: impl IntoIterator<Item = Option<PathElement>>) -> Pattern {
        let mut elements = elements.into_iter();
        match elements.next() {
            None => Pattern {
                everything: true,
                branches: Vec::new(),
            },
            Some(first) => Pattern {
                everything: false,
                branches: vec![(first, Pattern::prefix(elements))],
            },
        }
    }

    /// Returns the union of two patterns.
    pub fn or(mut self, other: Pattern) -> Pattern {
        if self.everything || other.everything {
            return Pattern {
                everything: true,
                branches: Vec::new(),
            };
        }
        for (element, below) in other.branches {
            match self
                .branches
                .iter_mut()
                .find(|(found, _)| *found == element)
            {
                Some((_, found)) => *found = std::mem::take(found).or(below),
                None => self.branches.push((element, below)),
            }
        }
        // Elements that match anything go first: the first that matches decides.
        self.branches.sort_by(|(a, _), (b, _)| a.cmp(b));
        self
    }

    fn select(&self, set: &FieldSet) -> FieldSet {
        if self.everything {
            return set.clone();
        }
        let nodes = set.nodes.iter().filter_map(|node| {
            let (_, below) = self
                .branches
                .iter()
                .find(|(e, _)| e.as_ref().is_none_or(|e| *e == node.element))?;
            let selected = node.below.as_ref().map(|set| below.select(set));
            Node::new(node.element.clone(), node.member, selected)
        });
        FieldSet {
            nodes: nodes.collect(),
        }
    }
}

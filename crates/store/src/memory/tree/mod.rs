//! A persistent ordered map: a B+ tree whose nodes are shared between copies and copied when written.
//!
//! A clone is one reference count. A write to a tree that is not shared happens in place; to a shared one it copies the nodes
//! on one path. Every reference to a subtree has the number of *live* values below it and their newest revision, so that
//! counting a span takes logarithmic time, and runs of dead values are skipped if all are old enough.
//!
//! Spans are given by two predicates on keys, both monotone in key order: `before` holds for the keys before the span, `after`
//! for those after it.
//!
//! Invariants: keys ascend; the key of a branch's item is at or below every key of its subtree; `live` is exact; `newest`
//! is at least the newest below (removing a value does not lower it); no node is empty.

use std::{borrow::Borrow, ops::ControlFlow, sync::Arc};

use crate::Revision;
pub(super) use run::Probe;
use run::{FULL, Item, Run};

mod run;
#[cfg(test)]
mod tests;

/// A node below this size is merged into a neighbour if there is room.
const SPARSE: usize = FULL / 4;
/// The maximum size of merged nodes, so that the next write does not split them again.
const MERGED: usize = FULL * 3 / 4;

/// The properties of a value that a tree aggregates.
pub(super) trait Measure {
    /// Returns whether the value counts.
    fn live(&self) -> bool {
        true
    }
    /// Returns the revision of the value.
    fn newest(&self) -> Revision {
        Revision(0)
    }
}

/// The order of a tree.
pub(super) trait Key: Clone + Borrow<Self::Probe> {
    /// The key of a search.
    type Probe: Probe + ?Sized;
}

/// The map.
pub(super) struct Tree<K, V> {
    root: Option<Subtree<K, V>>,
}

struct Subtree<K, V> {
    live: usize,
    newest: Revision,
    node: Arc<Node<K, V>>,
}

#[derive(Clone)]
enum Node<K, V> {
    Leaf(Run<K, V>),
    Branch(Run<K, Subtree<K, V>>),
}

impl<K: Key, V: Measure + Clone> Tree<K, V> {
    /// Returns the value of a key.
    pub(super) fn get(&self, key: &K::Probe) -> Option<&V> {
        self.find(key).map(|(_, value)| value)
    }

    /// Returns the stored key and its value.
    pub(super) fn find(&self, key: &K::Probe) -> Option<(&K, &V)> {
        let root = &*self.root.as_ref()?.node;
        // Assuming at every node that the key shares the prefix of the others, hardly any key has to be compared. If that
        // leads to the key, the assumption was right.
        root.find(key, Run::search_alike, Run::search_alike)
            .or_else(|| root.find(key, Run::search, Run::search))
    }

    /// Returns the value of a key, to be changed in place. Its aggregated properties must not change.
    pub(super) fn get_mut(&mut self, key: &K::Probe) -> Option<&mut V> {
        self.get(key)?;
        let mut node = Arc::make_mut(&mut self.root.as_mut()?.node);
        loop {
            match node {
                Node::Leaf(run) => {
                    let at = run.search(key).ok()?;
                    return run.value_mut(at);
                }
                Node::Branch(run) => {
                    let at = route(run.search(key));
                    node = Arc::make_mut(&mut run.value_mut(at)?.node);
                }
            }
        }
    }

    /// Sets the value of a key. An existing key keeps its stored form.
    pub(super) fn insert(&mut self, key: K, value: V) {
        let Some(root) = &mut self.root else {
            self.root = Some(Subtree::of(Node::Leaf(Run::of([(key, value)]))));
            return;
        };
        if let Some((right, key)) = root.put(key, value, true)
            && let Some(left) = self.root.take()
            && let Some(first) = left.node.first_key().cloned()
        {
            let run = Run::of([(first, left), (key, right)]);
            self.root = Some(Subtree::of(Node::Branch(run)));
        }
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, key: &K::Probe) -> Option<V> {
        self.get(key)?;
        let root = self.root.as_mut()?;
        let value = root.take(key);
        if root.node.len() == 0 {
            self.root = None;
        } else if let Node::Branch(run) = &*root.node
            && let [only] = run.items()
        {
            self.root = Some(only.value.clone());
        }
        value
    }

    /// Returns the first key and its value.
    pub(super) fn first(&self) -> Option<(&K, &V)> {
        let mut node = &*self.root.as_ref()?.node;
        loop {
            match node {
                Node::Leaf(run) => return run.items().first().map(|item| (&item.key, &item.value)),
                Node::Branch(run) => node = &*run.items().first()?.value.node,
            }
        }
    }

    /// Visits every value of the span in order until the visitor stops. Subtrees of values that are dead and not newer than
    /// `at` are skipped.
    pub(super) fn walk(
        &self,
        before: impl Fn(&K) -> bool,
        after: impl Fn(&K) -> bool,
        at: Revision,
        mut show: impl FnMut(&K, &V) -> ControlFlow<()>,
    ) {
        if let Some(root) = &self.root {
            let _ = root.node.walk(Some(&before), Some(&after), at, &mut show);
        }
    }

    /// Returns the number of live values of the span.
    pub(super) fn count(&self, before: impl Fn(&K) -> bool, after: impl Fn(&K) -> bool) -> usize {
        self.root
            .as_ref()
            .map_or(0, |root| root.count(Some(&before), Some(&after)))
    }
}

impl<K, V> Tree<K, V> {
    /// Returns an empty map.
    pub(super) const fn new() -> Self {
        Self { root: None }
    }

    /// Returns the number of live values.
    pub(super) fn live(&self) -> usize {
        self.root.as_ref().map_or(0, |root| root.live)
    }
}

impl<K, V> Clone for Tree<K, V> {
    fn clone(&self) -> Self {
        Self {
            root: self.root.clone(),
        }
    }
}

impl<K, V> Clone for Subtree<K, V> {
    fn clone(&self) -> Self {
        Self {
            live: self.live,
            newest: self.newest,
            node: Arc::clone(&self.node),
        }
    }
}

impl Key for Arc<str> {
    type Probe = str;
}

/// Returns the item of a branch that leads to a key, given the position where the key itself would be.
fn route(position: Result<usize, usize>) -> usize {
    position.unwrap_or_else(|after| after.saturating_sub(1))
}

impl<K: Key, V: Measure + Clone> Subtree<K, V> {
    fn of(node: Node<K, V>) -> Self {
        let mut subtree = Self {
            live: 0,
            newest: Revision(0),
            node: Arc::new(node),
        };
        subtree.measure();
        subtree
    }

    fn measure(&mut self) {
        let zero = (0, Revision(0));
        (self.live, self.newest) = match &*self.node {
            Node::Leaf(run) => run.items().iter().fold(zero, |(live, newest), item| {
                let value = &item.value;
                (live + usize::from(value.live()), newest.max(value.newest()))
            }),
            Node::Branch(run) => run.items().iter().fold(zero, |(live, newest), item| {
                (live + item.value.live, newest.max(item.value.newest))
            }),
        };
    }

    /// Sets a value in the subtree. `last`: nothing in the tree is to the right. Returns the right neighbour and its first key
    /// if the node was split.
    fn put(&mut self, key: K, value: V, last: bool) -> Option<(Self, K)> {
        let live = usize::from(value.live());
        self.newest = self.newest.max(value.newest());
        let right = match Arc::make_mut(&mut self.node) {
            Node::Leaf(run) => match run.search(key.borrow()) {
                Ok(at) => {
                    let held = run.value_mut(at)?;
                    let old = std::mem::replace(held, value);
                    self.live = self.live + live - usize::from(old.live());
                    return None;
                }
                Err(at) => {
                    self.live += live;
                    run.insert(at, key, value, last).map(Node::Leaf)
                }
            },
            Node::Branch(run) => {
                let position = run.search(key.borrow());
                if position == Err(0) {
                    run.lower(key.clone());
                }
                let at = route(position);
                let last = last && at + 1 == run.len();
                let below = run.value_mut(at)?;
                let before = below.live;
                let split = below.put(key, value, last);
                self.live = self.live + below.live - before;
                let (right, key) = split?;
                self.live += right.live;
                run.insert(at + 1, key, right, last).map(Node::Branch)
            }
        };
        let right = Self::of(right?);
        // Only the aggregates of a split node are computed anew.
        self.measure();
        let first = right.node.first_key()?.clone();
        Some((right, first))
    }

    /// Removes an existing key.
    fn take(&mut self, key: &K::Probe) -> Option<V> {
        let value = match Arc::make_mut(&mut self.node) {
            Node::Leaf(run) => {
                let at = run.search(key).ok()?;
                run.remove(at)
            }
            Node::Branch(run) => {
                let at = route(run.search(key));
                let below = run.value_mut(at)?;
                let value = below.take(key)?;
                match below.node.len() {
                    0 => drop(run.remove(at)),
                    n if n < SPARSE => merge(run, at),
                    _ => {}
                }
                value
            }
        };
        self.live -= usize::from(value.live());
        Some(value)
    }

    fn count<B: Fn(&K) -> bool, A: Fn(&K) -> bool>(
        &self,
        before: Option<&B>,
        after: Option<&A>,
    ) -> usize {
        if before.is_none() && after.is_none() {
            return self.live;
        }
        match &*self.node {
            Node::Leaf(run) => {
                let items = run.items();
                let from = before.map_or(0, |b| items.partition_point(|item| b(&item.key)));
                let to = after.map_or(run.len(), |a| items.partition_point(|i| !a(&i.key)));
                let span = items.get(from..to).unwrap_or_default();
                span.iter().filter(|item| item.value.live()).count()
            }
            Node::Branch(run) => spans(run.items(), before, after)
                .map(|(below, before, after)| below.count(before, after))
                .sum(),
        }
    }
}

impl<K: Key, V> Node<K, V> {
    /// Searches a key, with one way to search a leaf and one to search a branch.
    fn find(
        &self,
        key: &K::Probe,
        leaf: impl Fn(&Run<K, V>, &K::Probe) -> Result<usize, usize>,
        branch: impl Fn(&Run<K, Subtree<K, V>>, &K::Probe) -> Result<usize, usize>,
    ) -> Option<(&K, &V)> {
        let mut node = self;
        loop {
            match node {
                Node::Leaf(run) => {
                    let item = run.items().get(leaf(run, key).ok()?)?;
                    return Some((&item.key, &item.value));
                }
                Node::Branch(run) => {
                    let at = route(branch(run, key));
                    node = &*run.items().get(at)?.value.node;
                }
            }
        }
    }
}

impl<K, V> Node<K, V> {
    fn len(&self) -> usize {
        match self {
            Self::Leaf(run) => run.len(),
            Self::Branch(run) => run.len(),
        }
    }

    fn first_key(&self) -> Option<&K> {
        match self {
            Self::Leaf(run) => run.items().first().map(|item| &item.key),
            Self::Branch(run) => run.items().first().map(|item| &item.key),
        }
    }

    fn walk<B: Fn(&K) -> bool, A: Fn(&K) -> bool>(
        &self,
        before: Option<&B>,
        after: Option<&A>,
        at: Revision,
        show: &mut impl FnMut(&K, &V) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Self::Leaf(run) => {
                let from = before.map_or(0, |b| run.items().partition_point(|i| b(&i.key)));
                for item in run.items().iter().skip(from) {
                    if after.is_some_and(|a| a(&item.key)) {
                        return ControlFlow::Break(());
                    }
                    show(&item.key, &item.value)?;
                }
            }
            Self::Branch(run) => {
                for (below, before, after) in spans(run.items(), before, after) {
                    if below.live > 0 || below.newest > at {
                        below.node.walk(before, after, at, show)?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the subtrees that intersect a span, each with the bounds that cut it.
fn spans<'a, K, V, B: Fn(&K) -> bool, A: Fn(&K) -> bool>(
    items: &'a [Item<K, Subtree<K, V>>],
    before: Option<&'a B>,
    after: Option<&'a A>,
) -> impl Iterator<Item = (&'a Subtree<K, V>, Option<&'a B>, Option<&'a A>)> {
    let from = before.map_or(0, |b| {
        items.partition_point(|item| b(&item.key)).saturating_sub(1)
    });
    (from..items.len()).map_while(move |at| {
        let item = items.get(at)?;
        if after.is_some_and(|a| a(&item.key)) {
            return None;
        }
        let cut_left = before.filter(|_| at == from);
        let cut_right = after.filter(|a| items.get(at + 1).is_none_or(|next| a(&next.key)));
        Some((&item.value, cut_left, cut_right))
    })
}

/// Merges a sparse node with a neighbour if both fit into one.
fn merge<K: Key, V: Measure + Clone>(run: &mut Run<K, Subtree<K, V>>, at: usize) {
    let left = if at + 1 < run.len() {
        at
    } else {
        at.saturating_sub(1)
    };
    let (Some(a), Some(b)) = (run.items().get(left), run.items().get(left + 1)) else {
        return;
    };
    if a.value.node.len() + b.value.node.len() > MERGED {
        return;
    }
    let right = run.remove(left + 1);
    if let Some(below) = run.value_mut(left) {
        match (
            Arc::make_mut(&mut below.node),
            Arc::unwrap_or_clone(right.node),
        ) {
            (Node::Leaf(run), Node::Leaf(more)) => run.append(more),
            (Node::Branch(run), Node::Branch(more)) => run.append(more),
            _ => unreachable!("all leaves are at one depth"),
        }
        below.live += right.live;
        below.newest = below.newest.max(right.newest);
    }
}

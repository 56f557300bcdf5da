//! The tree against the standard map.

use std::{collections::BTreeMap, ops::ControlFlow};

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug, PartialEq)]
struct Value {
    live: bool,
    written: u64,
}

impl Measure for Value {
    fn live(&self) -> bool {
        self.live
    }
    fn newest(&self) -> Revision {
        Revision(self.written)
    }
}

type Model = BTreeMap<u32, Value>;

fn all(tree: &Tree<u32, Value>) -> Vec<(u32, Value)> {
    let mut seen = Vec::new();
    tree.walk(
        |_| false,
        |_| false,
        Revision(0),
        |k, v| {
            seen.push((*k, v.clone()));
            ControlFlow::Continue(())
        },
    );
    seen
}

fn assert_is(tree: &Tree<u32, Value>, model: &Model) {
    let live = model.values().filter(|v| v.live).count();
    assert_eq!(tree.live(), live);
    // Dead values at or below the revision asked for may be passed over, so ask for one before everything.
    assert_eq!(
        all(tree),
        model
            .iter()
            .map(|(k, v)| (*k, v.clone()))
            .collect::<Vec<_>>()
    );
    assert_eq!(tree.first().map(|(k, _)| *k), model.keys().next().copied());
    if let Some(root) = &tree.root {
        check(root);
    }
}

/// The invariants of the module's head, and the depth.
fn check(subtree: &Subtree<u32, Value>) -> usize {
    let mut again = subtree.clone();
    again.measure();
    assert_eq!(subtree.live, again.live);
    assert!(subtree.newest >= again.newest);
    assert!((1..=FULL).contains(&subtree.node.len()));
    match &*subtree.node {
        Node::Leaf(run) => {
            assert!(run.items().is_sorted_by(|a, b| a.key < b.key));
            1
        }
        Node::Branch(run) => {
            assert!(run.items().is_sorted_by(|a, b| a.key < b.key));
            for item in run.items() {
                assert!(
                    item.value
                        .node
                        .first_key()
                        .is_some_and(|first| *first >= item.key)
                );
            }
            let depths: Vec<_> = run.items().iter().map(|item| check(&item.value)).collect();
            assert!(depths.windows(2).all(|d| d[0] == d[1]));
            1 + depths[0]
        }
    }
}

/// Like text: the digits of the number, in as few bytes as it takes to have some keys share many of them.
impl Probe for u32 {
    fn shared(&self, other: &Self) -> usize {
        let pairs = self.to_be_bytes().into_iter().zip(other.to_be_bytes());
        pairs.take_while(|(a, b)| a == b).count()
    }
    fn digest(&self, skip: usize) -> u64 {
        // One byte only, so that equal digests are common.
        self.to_be_bytes()
            .get(skip)
            .copied()
            .unwrap_or_default()
            .into()
    }
}

impl Key for u32 {
    type Probe = u32;
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u32, bool),
    Remove(u32),
    Keep,
}

fn op(keys: u32) -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..keys, prop::bool::weighted(0.8)).prop_map(|(k, live)| Op::Insert(k, live)),
        4 => (0..keys).prop_map(Op::Remove),
        1 => Just(Op::Keep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_is_an_ordered_map_and_its_copies_never_change(
        grow in prop::collection::vec(op(3000), 0..1500),
        shrink in prop::collection::vec(0..3000_u32, 0..1500),
        from in 0..3000_u32,
        width in 0..3000_u32,
    ) {
        let (mut tree, mut model) = (Tree::new(), Model::new());
        let mut kept: Vec<(Tree<u32, Value>, Model)> = Vec::new();
        let ops = grow.into_iter().chain(shrink.into_iter().map(Op::Remove));
        for (now, op) in (1..).zip(ops) {
            match op {
                Op::Insert(key, live) => {
                    let value = Value { live, written: now };
                    tree.insert(key, value.clone());
                    model.insert(key, value);
                }
                Op::Remove(key) => prop_assert_eq!(tree.remove(&key), model.remove(&key)),
                Op::Keep => kept.push((tree.clone(), model.clone())),
            }
        }
        kept.push((tree, model));
        for (tree, model) in kept {
            assert_is(&tree, &model);
            let to = from.saturating_add(width);
            let span = model.range(from..to);
            prop_assert_eq!(
                tree.count(|k| *k < from, |k| *k >= to),
                span.clone().filter(|(_, v)| v.live).count()
            );
            let mut seen = Vec::new();
            // Whatever is alive or after 700 has to be shown.
            let wanted = |v: &Value| v.live || v.written > 700;
            tree.walk(|k| *k < from, |k| *k >= to, Revision(700), |k, v| {
                if wanted(v) { seen.push(*k); }
                ControlFlow::Continue(())
            });
            let shown: Vec<_> = span.filter(|(_, v)| wanted(v)).map(|(k, _)| *k).collect();
            prop_assert_eq!(seen, shown);
        }
    }
}

#[test]
fn keys_written_in_order_fill_their_nodes() {
    let mut tree = Tree::new();
    for key in 0..(FULL as u32 * FULL as u32) {
        tree.insert(
            key,
            Value {
                live: true,
                written: 1,
            },
        );
    }
    let root = tree.root.as_ref().unwrap();
    assert_eq!(check(root), 2);
    assert_eq!(root.node.len(), FULL);
}

#[test]
fn removing_everything_leaves_nothing_behind() {
    let mut tree = Tree::new();
    for key in 0..5000_u32 {
        tree.insert(
            key.reverse_bits(),
            Value {
                live: true,
                written: 1,
            },
        );
    }
    for key in 0..5000_u32 {
        assert!(tree.remove(&key.reverse_bits()).is_some());
        if key % 500 == 0 {
            check(tree.root.as_ref().unwrap());
        }
    }
    assert!(tree.root.is_none());
}

#[test]
fn a_changed_value_is_seen_in_one_copy_only() {
    let mut tree = Tree::new();
    for key in 0..100_u32 {
        tree.insert(
            key,
            Value {
                live: true,
                written: 1,
            },
        );
    }
    let before = tree.clone();
    tree.get_mut(&50).unwrap().written = 9;
    assert_eq!(tree.get(&50).unwrap().written, 9);
    assert_eq!(before.get(&50).unwrap().written, 1);
    assert!(tree.get_mut(&1000).is_none());
}

impl Measure for usize {}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn text_is_found_with_any_prefix_and_end(
        keys in prop::collection::vec("(name|other)?/?[ab\u{0}é]{0,12}", 1..400),
        gone in prop::collection::vec(any::<prop::sample::Index>(), 0..300),
        asked in prop::collection::vec("(name|other|nam)?/?[ab\u{0}é]{0,12}", 0..50),
    ) {
        let (mut tree, mut model) = (Tree::<Arc<str>, usize>::new(), BTreeMap::new());
        for (n, key) in keys.iter().enumerate() {
            tree.insert(key.as_str().into(), n);
            model.insert(key.clone(), n);
        }
        for index in gone {
            let key = index.get(&keys);
            prop_assert_eq!(tree.remove(key), model.remove(key));
        }
        for key in keys.iter().chain(&asked) {
            prop_assert_eq!(tree.get(key), model.get(key));
            let (before, after) = (|k: &Arc<str>| **k < **key, |k: &Arc<str>| **k > **key);
            let from = model.range(key.clone()..).count();
            prop_assert_eq!(tree.count(before, |_| false), from);
            let to = model.range(..=key.clone()).count();
            prop_assert_eq!(tree.count(|_| false, after), to);
        }
    }
}

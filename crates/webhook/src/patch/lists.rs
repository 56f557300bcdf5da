//! Changes of lists. Items keep their fields that are unknown to the type.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::{
    Patch, PatchOperation,
    node::{Fields, Node},
};

/// The fields that identify the items of a list, the most specific first.
const KEYS: [&str; 11] = [
    "name",
    "uid",
    "mountPath",
    "devicePath",
    "containerPort",
    "port",
    "type",
    "key",
    "ip",
    "topologyKey",
    "id",
];

/// The number of comparisons above which items are matched by their position only.
const MAX_COMPARISONS: usize = 1 << 22;

impl Patch {
    /// Adds the operations for a list. `original` has as many items as `before`.
    pub(super) fn items(
        &mut self,
        before: &[&RawValue],
        after: &[&RawValue],
        original: &[&RawValue],
    ) -> serde_json::Result<()> {
        let same = |(one, other): &(&&RawValue, &&RawValue)| one.get() == other.get();
        let start = before.iter().zip(after).take_while(same).count();
        let (old, new) = (&before[start..], &after[start..]);
        let end = old.iter().rev().zip(new.iter().rev()).take_while(same);
        let end = end.count();
        let old = &old[..old.len() - end];
        let new = &new[..new.len() - end];
        let original = &original[start..start + old.len()];
        match identities(old, new)? {
            Some(matched) => self.matched_items(start, old, new, original, &matched),
            None => self.items_by_position(start, old, new, original),
        }
    }

    /// Moves, adds and removes items that can be identified. `matched` contains the index of each new item in the old list.
    fn matched_items(
        &mut self,
        start: usize,
        old: &[&RawValue],
        new: &[&RawValue],
        original: &[&RawValue],
        matched: &[Option<usize>],
    ) -> serde_json::Result<()> {
        let mut kept = vec![false; old.len()];
        for index in matched.iter().flatten() {
            kept[*index] = true;
        }
        for index in (0..old.len()).rev().filter(|index| !kept[*index]) {
            self.item(start + index, |patch| {
                patch.remove();
                Ok(())
            })?;
        }
        // The old indices of the items that are not in place yet.
        let mut waiting: Vec<usize> = (0..old.len()).filter(|index| kept[*index]).collect();
        for (place, (item, index)) in new.iter().zip(matched).enumerate() {
            let Some(index) = *index else {
                self.item(start + place, |patch| patch.add(item))?;
                continue;
            };
            let distance = waiting.iter().position(|other| *other == index);
            let distance = distance.unwrap_or_default();
            waiting.remove(distance);
            if distance > 0 {
                let from = format!("{}/{}", self.path, start + place + distance);
                let path = format!("{}/{}", self.path, start + place);
                self.operations.push(PatchOperation::Move { from, path });
            }
            self.item(start + place, |patch| {
                patch.value(old[index], item, original[index])
            })?;
        }
        Ok(())
    }

    /// Compares items with the same index, then adds or removes items at the end.
    fn items_by_position(
        &mut self,
        start: usize,
        old: &[&RawValue],
        new: &[&RawValue],
        original: &[&RawValue],
    ) -> serde_json::Result<()> {
        for (index, ((old, new), original)) in old.iter().zip(new).zip(original).enumerate() {
            self.item(start + index, |patch| patch.value(old, new, original))?;
        }
        for (index, item) in new.iter().enumerate().skip(old.len()) {
            self.item(start + index, |patch| patch.add(item))?;
        }
        for index in (new.len()..old.len()).rev() {
            self.item(start + index, |patch| {
                patch.remove();
                Ok(())
            })?;
        }
        Ok(())
    }

    fn item(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut Self) -> serde_json::Result<()>,
    ) -> serde_json::Result<()> {
        self.below(&index.to_string(), work)
    }
}

/// Returns the index of each new item in the old list, or `None` if the items cannot be identified.
fn identities(
    old: &[&RawValue],
    new: &[&RawValue],
) -> serde_json::Result<Option<Vec<Option<usize>>>> {
    if old.len().saturating_mul(new.len()) > MAX_COMPARISONS {
        return Ok(None);
    }
    let (Some(old), Some(new)) = (nodes(old)?, nodes(new)?) else {
        return Ok(None);
    };
    Ok(KEYS.into_iter().find_map(|key| {
        let (old, new) = (distinct(&old, key)?, distinct(&new, key)?);
        let places: HashMap<&str, usize> = old.iter().zip(0..).map(|(id, at)| (*id, at)).collect();
        Some(new.iter().map(|id| places.get(id).copied()).collect())
    }))
}

/// An item: its fields, or the text of a scalar.
enum Item<'a> {
    Object(Fields<'a>),
    Scalar(&'a str),
}

/// Returns the items, or `None` if one of them is a list.
fn nodes<'a>(items: &[&'a RawValue]) -> serde_json::Result<Option<Vec<Item<'a>>>> {
    let item = |item: &&'a RawValue| {
        Ok(match Node::of(item)? {
            Node::Object(fields) => Some(Item::Object(fields)),
            Node::List(_) => None,
            Node::Leaf => Some(Item::Scalar(item.get())),
        })
    };
    items.iter().map(item).collect()
}

/// Returns the values of a field that identifies the items: every item must have a distinct one.
fn distinct<'a>(items: &'a [Item<'a>], key: &str) -> Option<Vec<&'a str>> {
    let identity = |item: &'a Item<'a>| match item {
        Item::Object(fields) => fields
            .get(key)
            .map(RawValue::get)
            .filter(|text| !text.starts_with(['{', '['])),
        Item::Scalar(text) => Some(*text),
    };
    let identities: Vec<&str> = items.iter().map(identity).collect::<Option<_>>()?;
    let mut sorted = identities.clone();
    sorted.sort_unstable();
    sorted
        .windows(2)
        .all(|pair| pair[0] != pair[1])
        .then_some(identities)
}

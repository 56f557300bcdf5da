//! The changes of a typed object as a JSON patch of the object that it was decoded from.
//!
//! A type may lack fields of the object, and may encode fields that the object lacks, such as defaults. Therefore, the typed
//! object is encoded before and after the change, and only the difference is applied to the original: fields that are unknown
//! to the type survive, also in the items of lists.

mod lists;
mod narrow;
mod node;
mod operation;
#[cfg(test)]
mod tests;

use serde_json::{Value, value::RawValue};

use narrow::narrow;
use node::{Fields, Node};
pub use operation::PatchOperation;

use crate::members::Members;

/// Returns the operations that apply the change from `before` to `after` to `original`. `serde_json` must have written both.
pub(crate) fn changes(
    before: &str,
    after: &str,
    original: &str,
) -> serde_json::Result<Vec<PatchOperation>> {
    let mut patch = Patch::default();
    let narrowed = narrow(before, after);
    let (before, after, original) = match patch.descend(&narrowed.keys, original) {
        Some(original) => (narrowed.before, narrowed.after, original),
        // The object is missing in the original.
        None => (before, after, original),
    };
    patch.value(
        serde_json::from_str(before)?,
        serde_json::from_str(after)?,
        serde_json::from_str(original)?,
    )?;
    Ok(patch.operations)
}

/// A patch that is being built.
#[derive(Default)]
struct Patch {
    operations: Vec<PatchOperation>,
    /// The JSON pointer of the value that is being compared.
    path: String,
}

impl Patch {
    /// Descends to an object in the original, if it exists under the same keys.
    fn descend<'a>(&mut self, keys: &[&str], original: &'a str) -> Option<&'a str> {
        let (mut at, mut path) = (original, String::new());
        for key in keys {
            at = member(at, key).filter(|value| value.starts_with('{'))?;
            // A key with escapes has several spellings.
            let key = key.trim_matches('"');
            if key.contains('\\') {
                return None;
            }
            push_key(&mut path, key);
        }
        self.path = path;
        Some(at)
    }

    /// Adds the operations for one value.
    fn value(
        &mut self,
        before: &RawValue,
        after: &RawValue,
        original: &RawValue,
    ) -> serde_json::Result<()> {
        if before.get() == after.get() {
            return Ok(());
        }
        match (Node::of(before)?, Node::of(after)?, Node::of(original)?) {
            (Node::Object(before), Node::Object(after), Node::Object(original)) => {
                self.fields(&before, &after, &original)
            }
            (Node::List(before), Node::List(after), Node::List(original))
                if before.len() == original.len() =>
            {
                self.items(&before, &after, &original)
            }
            _ if is_same(before, after)? => Ok(()),
            _ => self.replace(after),
        }
    }

    fn fields(
        &mut self,
        before: &Fields<'_>,
        after: &Fields<'_>,
        original: &Fields<'_>,
    ) -> serde_json::Result<()> {
        for (key, new) in after.iter() {
            self.below(key, |patch| match (before.get(key), original.get(key)) {
                (Some(old), Some(original)) => patch.value(old, new, original),
                // The type encodes a default that is missing in the object.
                (Some(old), None) if is_same(old, new)? => Ok(()),
                (_, None) => patch.add(new),
                (None, Some(_)) => patch.replace(new),
            })?;
        }
        for (key, _) in before.iter() {
            if after.get(key).is_none() && original.get(key).is_some() {
                self.below(key, |patch| {
                    patch.remove();
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Calls a function with the path of a field or an item.
    fn below(
        &mut self,
        key: &str,
        work: impl FnOnce(&mut Self) -> serde_json::Result<()>,
    ) -> serde_json::Result<()> {
        let length = self.path.len();
        push_key(&mut self.path, key);
        let done = work(self);
        self.path.truncate(length);
        done
    }

    fn add(&mut self, value: &RawValue) -> serde_json::Result<()> {
        self.operations.push(PatchOperation::Add {
            path: self.path.clone(),
            value: parse(value)?,
        });
        Ok(())
    }

    fn replace(&mut self, value: &RawValue) -> serde_json::Result<()> {
        self.operations.push(PatchOperation::Replace {
            path: self.path.clone(),
            value: parse(value)?,
        });
        Ok(())
    }

    fn remove(&mut self) {
        self.operations.push(PatchOperation::Remove {
            path: self.path.clone(),
        });
    }
}

/// Returns the value of a member of an object, by its key as JSON.
fn member<'a>(object: &'a str, wanted: &str) -> Option<&'a str> {
    let mut members = Members::new(object).ok()?;
    while let Some(key) = members.key().ok()? {
        let value = members.value().ok()?;
        if key == wanted {
            return object.get(value);
        }
    }
    None
}

/// Appends a key to a JSON pointer.
fn push_key(path: &mut String, key: &str) {
    path.push('/');
    for character in key.chars() {
        match character {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            character => path.push(character),
        }
    }
}

fn parse(text: &RawValue) -> serde_json::Result<Value> {
    serde_json::from_str(text.get())
}

/// Compares two values, ignoring the order of fields.
fn is_same(one: &RawValue, other: &RawValue) -> serde_json::Result<bool> {
    Ok(one.get() == other.get() || parse(one)? == parse(other)?)
}

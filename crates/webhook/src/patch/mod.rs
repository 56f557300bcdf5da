//! The changes of a typed object as a JSON patch of the object that the type was read from.
//!
//! A type may lack fields that the object has, and may print fields that it lacks, such as defaults. Therefore the typed
//! object is encoded before and after the change, and only the difference between the two is applied to the original: fields
//! that the type does not know survive, inside the items of lists too.

mod lists;
mod node;
mod operation;
#[cfg(test)]
mod tests;

use serde_json::{Value, value::RawValue};

use node::{Fields, Node};
pub use operation::PatchOperation;

/// Returns the operations that make the change from `before` to `after` on `original`.
pub(crate) fn changes(
    before: &[u8],
    after: &[u8],
    original: &RawValue,
) -> serde_json::Result<Vec<PatchOperation>> {
    let mut patch = Patch::default();
    patch.value(
        serde_json::from_slice(before)?,
        serde_json::from_slice(after)?,
        original,
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
                // The type prints a default that the object lacks.
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
        self.path.push('/');
        for character in key.chars() {
            match character {
                '~' => self.path.push_str("~0"),
                '/' => self.path.push_str("~1"),
                character => self.path.push(character),
            }
        }
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

fn parse(text: &RawValue) -> serde_json::Result<Value> {
    serde_json::from_str(text.get())
}

/// Compares two values; the order of fields does not matter.
fn is_same(one: &RawValue, other: &RawValue) -> serde_json::Result<bool> {
    Ok(one.get() == other.get() || parse(one)? == parse(other)?)
}

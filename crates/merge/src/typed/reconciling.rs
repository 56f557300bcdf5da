//! Adjusts field sets that were written under an older schema.
//!
//! If a list or map that merged by entry becomes one value, an owner of entries becomes the owner of the whole. The
//! other way round needs no change: it is as if the value had always been granular.

use super::atom::{Atom, resolve};
use crate::fieldset::{FieldSet, PathElement};
use crate::schema::{ListMerge, Schema, Shape};

/// Returns the set adjusted to the current schema, or `None` if nothing changes.
pub fn reconcile<S: Schema>(schema: S, set: &FieldSet) -> Option<FieldSet> {
    let mut walk = Reconciliation {
        path: Vec::new(),
        whole: FieldSet::new(),
    };
    walk.visit(schema, Some(set), false);
    if walk.whole.is_empty() {
        return None;
    }
    Some(set.recursive_difference(&walk.whole).union(&walk.whole))
}

struct Reconciliation {
    path: Vec<PathElement>,
    /// The paths that are one value now.
    whole: FieldSet,
}

impl Reconciliation {
    /// `owned_whole`: the path is a member and nothing is below it.
    fn visit<S: Schema>(&mut self, schema: S, set: Option<&FieldSet>, owned_whole: bool) {
        if matches!(schema.shape(), Shape::Deduced) {
            return;
        }
        match resolve(schema, None) {
            Atom::Scalar(_) => {}
            Atom::List(list) => {
                if list.merge == ListMerge::Atomic && !owned_whole {
                    self.whole.insert(&self.path);
                } else if list.merge != ListMerge::Atomic {
                    self.below(set, |_| Some(list.item));
                }
            }
            Atom::Map(map) => {
                let only_unknown = matches!(schema.shape(), Shape::Map { .. })
                    && map
                        .element
                        .is_some_and(|e| matches!(e.shape(), Shape::Deduced));
                if only_unknown {
                    return;
                }
                if map.atomic && !owned_whole {
                    if set.is_some() {
                        self.whole.insert(&self.path);
                    }
                } else if !map.atomic {
                    self.below(set, |element| match element {
                        PathElement::FieldName(name) => map.child(name).0,
                        _ => map.element,
                    });
                }
            }
        }
    }

    fn below<S: Schema>(
        &mut self,
        set: Option<&FieldSet>,
        schema_of: impl Fn(&PathElement) -> Option<S>,
    ) {
        for node in set.map(FieldSet::nodes).unwrap_or_default() {
            let Some(schema) = schema_of(&node.element) else {
                continue;
            };
            self.path.push(node.element.clone());
            self.visit(
                schema,
                node.below.as_deref(),
                node.member && node.below.is_none(),
            );
            self.path.pop();
        }
    }
}

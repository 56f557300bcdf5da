//! [`Candidates`]: the policies that may be for a resource, by the labels that they require of its objects.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::{Family, index::Bound};
use crate::admission::matching::Criteria;

/// The policies that may be for a resource, in the order of their names.
pub(crate) struct Candidates<F: Family> {
    all: Vec<Arc<Bound<F>>>,
    /// The positions of those that require no label.
    unlabelled: Vec<usize>,
    /// The positions of the others, by the key and the value of a label that they require.
    labelled: HashMap<String, HashMap<String, Vec<usize>>>,
}

impl<F: Family> Candidates<F> {
    /// Indexes policies that are in the order of their names.
    pub(super) fn new(all: Vec<Arc<Bound<F>>>) -> Self {
        let mut unlabelled = Vec::new();
        let mut labelled: HashMap<String, HashMap<String, Vec<usize>>> = HashMap::new();
        for (position, bound) in all.iter().enumerate() {
            let criteria = bound.policy.constraints.as_ref();
            match criteria.and_then(Criteria::required_label) {
                None => unlabelled.push(position),
                Some((key, value)) => {
                    let values = labelled.entry(key.to_owned()).or_default();
                    values.entry(value.to_owned()).or_default().push(position);
                }
            }
        }
        Self {
            all,
            unlabelled,
            labelled,
        }
    }

    /// Reports whether there are no policies.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the policies without those that require a label which none of the objects has.
    pub(crate) fn for_objects<'a>(
        &self,
        objects: impl Iterator<Item = &'a Value>,
    ) -> Vec<&Arc<Bound<F>>> {
        if self.labelled.is_empty() {
            return self.all.iter().collect();
        }
        let mut positions = self.unlabelled.clone();
        for object in objects {
            let labels = object["metadata"]["labels"].as_object();
            for (key, value) in labels.into_iter().flatten() {
                let found = self.labelled.get(key).zip(value.as_str());
                let found = found.and_then(|(values, value)| values.get(value));
                positions.extend(found.into_iter().flatten());
            }
        }
        positions.sort_unstable();
        positions.dedup();
        let bound = positions.into_iter().filter_map(|at| self.all.get(at));
        bound.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::policy::{definition::Policy, validating::Validating};

    fn candidates(selectors: &[(&str, Value)]) -> Candidates<Validating> {
        let bound = selectors.iter().map(|(name, selector)| {
            let spec = json!({"matchConstraints": {"objectSelector": selector}});
            Arc::new(Bound {
                policy: Arc::new(Policy::read(name, spec)),
                bindings: Vec::new(),
            })
        });
        Candidates::new(bound.collect())
    }

    fn names(candidates: &Candidates<Validating>, objects: &[Value]) -> Vec<String> {
        let found = candidates.for_objects(objects.iter());
        found.iter().map(|b| b.policy.name.to_string()).collect()
    }

    fn labelled(labels: &Value) -> Value {
        json!({"metadata": {"labels": labels}})
    }

    #[test]
    fn policies_for_other_labels_are_left_out_and_the_others_keep_their_order() {
        let one_of = |values: &[&str]| json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": values}]});
        let candidates = candidates(&[
            ("a", json!({"matchLabels": {"app": "web"}})),
            ("b", json!({})),
            ("c", json!({"matchLabels": {"app": "web", "tier": "front"}})),
            ("d", json!({"matchLabels": {"app": "shop"}})),
            ("e", one_of(&["front"])),
            ("f", one_of(&["front", "back"])),
            // The error is that of a request that matches otherwise.
            (
                "g",
                json!({"matchExpressions": [{"key": "a", "operator": "Like"}]}),
            ),
        ]);
        let web = labelled(&json!({"app": "web", "tier": "front"}));
        let shop = labelled(&json!({"app": "shop"}));
        assert_eq!(
            names(&candidates, std::slice::from_ref(&web)),
            ["a", "b", "c", "e", "f", "g"]
        );
        assert_eq!(
            names(&candidates, std::slice::from_ref(&shop)),
            ["b", "d", "f", "g"]
        );
        assert_eq!(names(&candidates, &[json!({})]), ["b", "f", "g"]);
        assert_eq!(names(&candidates, &[]), ["b", "f", "g"]);
        // The labels of the object before the update count too.
        assert_eq!(
            names(&candidates, &[shop, web]),
            ["a", "b", "c", "d", "e", "f", "g"]
        );
    }
}

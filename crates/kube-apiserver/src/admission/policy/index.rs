//! [`Index`]: the policies of a family and their bindings, by the resources that they may be for.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use kubewright_machinery::json::Read;
use serde_json::Value;

use super::{Family, GROUP, binding::Binding, candidates::Candidates, definition::Policy};
use crate::{admission::matching::Criteria, follow, kinds::collection};

/// A policy with its bindings, in the order of their names.
pub(crate) struct Bound<F: Family> {
    pub(crate) policy: Arc<Policy<F>>,
    pub(crate) bindings: Vec<Arc<Binding>>,
}

/// The policies of a family and their bindings.
pub(crate) struct Index<F: Family> {
    policies: BTreeMap<Arc<str>, Arc<Policy<F>>>,
    bindings: BTreeMap<Arc<str>, Arc<Binding>>,
    /// Rebuilt by the first request after a change.
    table: OnceLock<Table<F>>,
}

/// The policies that have bindings, by the resources that they may be for.
struct Table<F: Family> {
    by_resource: HashMap<String, Arc<Candidates<F>>>,
    /// The policies for all resources.
    others: Arc<Candidates<F>>,
}

/// The two kinds of a family.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Policy,
    Binding,
}

impl<F: Family> Default for Index<F> {
    fn default() -> Self {
        Self {
            policies: BTreeMap::new(),
            bindings: BTreeMap::new(),
            table: OnceLock::new(),
        }
    }
}

impl<F: Family> Index<F> {
    /// Returns the policies that may be for a resource or its subresources, in any group and version.
    pub(crate) fn candidates(&self, resource: &str) -> Arc<Candidates<F>> {
        let table = self.table.get_or_init(|| self.tabulate());
        let found = table.by_resource.get(resource);
        found.unwrap_or(&table.others).clone()
    }

    /// Reports whether there is no policy for a resource or its subresources.
    pub(crate) fn is_idle(&self, resource: &str) -> bool {
        let table = self.table.get_or_init(|| self.tabulate());
        let found = table.by_resource.get(resource);
        found.unwrap_or(&table.others).is_empty()
    }

    fn tabulate(&self) -> Table<F> {
        let mut bindings: HashMap<&str, Vec<Arc<Binding>>> = HashMap::new();
        for binding in self.bindings.values() {
            let bound = bindings.entry(&binding.policy).or_default();
            bound.push(binding.clone());
        }
        let bound = self.policies.values().filter_map(|policy| {
            let criteria = policy.constraints.as_ref();
            let bound = Bound {
                policy: policy.clone(),
                bindings: bindings.remove(&*policy.name)?,
            };
            Some((Arc::new(bound), criteria.and_then(Criteria::resources)))
        });
        let bound: Vec<_> = bound.collect();
        let list = |wanted: Option<&String>| {
            let fits = |resources: &Option<Vec<String>>| match (resources, wanted) {
                (None, _) => true,
                (Some(resources), Some(wanted)) => resources.contains(wanted),
                (Some(_), None) => false,
            };
            let fitting = bound.iter().filter(|(_, resources)| fits(resources));
            let fitting = fitting.map(|(bound, _)| bound.clone());
            Arc::new(Candidates::new(fitting.collect()))
        };
        let named = bound.iter().filter_map(|(_, resources)| resources.as_ref());
        let by_resource = named
            .flatten()
            .map(|resource| (resource.clone(), list(Some(resource))))
            .collect();
        Table {
            by_resource,
            others: list(None),
        }
    }
}

impl<F: Family> follow::Index for Index<F> {
    type Kind = Part;

    fn collections() -> Vec<(Part, Arc<str>)> {
        vec![
            (Part::Policy, collection(GROUP, F::POLICIES)),
            (Part::Binding, collection(GROUP, F::BINDINGS)),
        ]
    }

    fn put(&mut self, part: Part, path: &Arc<str>, bytes: &Bytes) {
        let Ok(mut object) = serde_json::from_slice::<Value>(bytes) else {
            return self.remove(part, path);
        };
        let spec = object["spec"].take();
        match part {
            Part::Policy => {
                let name = object["metadata"]["name"].text();
                // A status that is written leaves the programs as they are.
                if self
                    .policies
                    .get(path)
                    .is_some_and(|known| known.is_of(&spec))
                {
                    return;
                }
                let policy = Policy::read(name, spec);
                self.policies.insert(path.clone(), Arc::new(policy));
            }
            Part::Binding => {
                let name = object["metadata"]["name"].text();
                let binding = Binding::read(name, &spec);
                self.bindings.insert(path.clone(), Arc::new(binding));
            }
        }
        self.table = OnceLock::new();
    }

    fn remove(&mut self, part: Part, path: &str) {
        match part {
            Part::Policy => drop(self.policies.remove(path)),
            Part::Binding => drop(self.bindings.remove(path)),
        }
        self.table = OnceLock::new();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{admission::policy::validating::Validating, follow::Index as _};

    fn put(index: &mut Index<Validating>, part: Part, name: &str, spec: &Value) {
        let object = json!({"metadata": {"name": name}, "spec": spec});
        index.put(part, &name.into(), &object.to_string().into());
    }

    fn policy(resource: &str) -> Value {
        json!({"matchConstraints": {"resourceRules": [{"resources": [resource]}]}})
    }

    fn names(index: &Index<Validating>, resource: &str) -> Vec<String> {
        let found = index.candidates(resource);
        let found = found.for_objects(std::iter::empty());
        found.iter().map(|b| b.policy.name.to_string()).collect()
    }

    #[test]
    fn policies_are_found_by_resource_in_the_order_of_their_names() {
        let mut index = Index::default();
        for (name, resource) in [
            ("c", "pods"),
            ("b", "*"),
            ("a", "pods/exec"),
            ("d", "secrets"),
        ] {
            put(&mut index, Part::Policy, name, &policy(resource));
            put(
                &mut index,
                Part::Binding,
                name,
                &json!({"policyName": name}),
            );
        }
        assert_eq!(names(&index, "pods"), ["a", "b", "c"]);
        assert_eq!(names(&index, "secrets"), ["b", "d"]);
        assert_eq!(names(&index, "nodes"), ["b"]);
        index.remove(Part::Policy, "b");
        assert!(index.is_idle("nodes"));
    }

    #[test]
    fn a_policy_needs_a_binding_and_a_binding_a_policy() {
        let mut index = Index::default();
        put(&mut index, Part::Policy, "a", &policy("pods"));
        assert!(index.is_idle("pods"));
        for name in ["y", "x"] {
            put(&mut index, Part::Binding, name, &json!({"policyName": "a"}));
        }
        put(
            &mut index,
            Part::Binding,
            "z",
            &json!({"policyName": "other"}),
        );
        let found = index.candidates("pods");
        let found = found.for_objects(std::iter::empty());
        let bindings = found.iter().flat_map(|b| &b.bindings);
        let bindings: Vec<&str> = bindings.map(|b| &*b.name).collect();
        assert_eq!(bindings, ["x", "y"]);
    }

    #[test]
    fn a_policy_with_the_same_spec_keeps_its_programs() {
        let mut index = Index::default();
        put(&mut index, Part::Policy, "a", &policy("pods"));
        put(&mut index, Part::Binding, "a", &json!({"policyName": "a"}));
        let first = |index: &Index<Validating>| {
            let found = index.candidates("pods");
            found.for_objects(std::iter::empty())[0].policy.clone()
        };
        let before = first(&index);
        put(&mut index, Part::Policy, "a", &policy("pods"));
        assert!(Arc::ptr_eq(&before, &first(&index)));
        put(&mut index, Part::Policy, "a", &policy("*"));
        assert!(!Arc::ptr_eq(&before, &first(&index)));
    }
}

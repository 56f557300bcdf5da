//! [`Invoked`]: which policies run again in the second mutating pass.

use std::{collections::BTreeSet, sync::Arc};

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::Mutating;
use crate::admission::policy::selection::Invocation;

/// A policy, a binding and a parameter, by their names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    policy: Arc<str>,
    binding: Arc<str>,
    /// The namespace and the name of the parameter.
    param: Option<(String, String)>,
}

/// The policies that ran for a request, kept between the two passes.
#[derive(Default)]
pub(super) struct Invoked {
    /// The object as the policies left it.
    last_output: Option<Value>,
    /// Those that run again if the object changes after them.
    before: BTreeSet<Key>,
    /// Those that run again.
    again: BTreeSet<Key>,
}

impl Key {
    pub(super) fn of(invocation: &Invocation<Mutating>, param: Option<&Value>) -> Self {
        let metadata = |param: &Value| {
            let text = |key: &str| param["metadata"][key].text().to_owned();
            (text("namespace"), text("name"))
        };
        Self {
            policy: invocation.policy.name.clone(),
            binding: invocation.binding.name.clone(),
            param: param.map(metadata),
        }
    }
}

impl Invoked {
    /// Begins the second pass. If other plugins changed the object since, the policies before them run again.
    pub(super) fn begin_second(&mut self, object: Option<&Value>) {
        if self.last_output.as_ref() != object {
            self.require_all();
        }
    }

    /// Reports whether a policy runs in the second pass.
    pub(super) fn runs_again(&self, key: &Key) -> bool {
        self.again.contains(key)
    }

    /// Remembers a policy that may run again.
    pub(super) fn remember(&mut self, key: Key) {
        self.before.insert(key);
    }

    /// Lets the policies that ran so far run again.
    pub(super) fn require_all(&mut self) {
        self.again.append(&mut self.before);
    }

    /// Remembers the object after the policies.
    pub(super) fn end(&mut self, object: Option<&Value>) {
        self.last_output = object.cloned();
    }
}

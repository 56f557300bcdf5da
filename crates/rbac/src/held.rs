//! [`Held`]: the rules of a user, indexed by resource.

use std::{collections::HashMap, iter::Chain, slice::Iter};

use crate::PolicyRule;

/// Held rules, found by resource: the cost of a comparison does not grow with rules about other resources.
pub(crate) struct Held<'a> {
    by_resource: HashMap<&'a str, Vec<&'a PolicyRule>>,
    /// Rules about all resources, or a subresource of all.
    wildcards: Vec<&'a PolicyRule>,
    paths: Vec<&'a PolicyRule>,
}

impl<'a> Held<'a> {
    pub(crate) fn new(rules: &'a [PolicyRule]) -> Self {
        let mut held = Self {
            by_resource: HashMap::new(),
            wildcards: Vec::new(),
            paths: Vec::new(),
        };
        for rule in rules {
            for resource in &rule.resources {
                let rules = match resource.starts_with('*') {
                    true => &mut held.wildcards,
                    false => held.by_resource.entry(resource).or_default(),
                };
                rules.push(rule);
            }
            if !rule.non_resource_urls.is_empty() {
                held.paths.push(rule);
            }
        }
        held
    }

    /// Returns the rules that may be about a resource.
    pub(crate) fn about(&self, resource: &str) -> Candidates<'_, 'a> {
        let exact = self.by_resource.get(resource).map(Vec::as_slice);
        exact.unwrap_or_default().iter().chain(&self.wildcards)
    }

    /// Returns the rules about paths.
    pub(crate) fn about_paths(&self) -> Candidates<'_, 'a> {
        self.paths.iter().chain(&[])
    }
}

/// Rules to compare another with.
pub(crate) type Candidates<'h, 'a> = Chain<Iter<'h, &'a PolicyRule>, Iter<'h, &'a PolicyRule>>;

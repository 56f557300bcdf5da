//! The registry: which group, version and resource is served by what.
//!
//! It is immutable; a change (a custom resource definition, say) swaps in a new one, so a request sees one consistent
//! registry from beginning to end.

use std::{collections::HashMap, sync::Arc};

use super::resource::Resource;

/// An API group: versions in the order of preference, each with its resources.
#[derive(Clone, Default)]
pub struct Group {
    /// Empty for the core group.
    pub name: String,
    /// Version and resources, preferred first.
    pub versions: Vec<(String, Vec<Arc<Resource>>)>,
}

/// Everything that is served.
#[derive(Clone, Default)]
pub struct Registry {
    groups: Vec<Group>,
    /// Group, version, plural: nested, so that a look-up allocates nothing.
    index: HashMap<String, HashMap<String, HashMap<String, Arc<Resource>>>>,
}

/// Collects resources into a [`Registry`].
#[derive(Default)]
pub struct RegistryBuilder {
    groups: Vec<Group>,
}

impl Registry {
    /// The groups in the order of discovery.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Whether the group is served in any version.
    pub fn has_group(&self, group: &str) -> bool {
        self.index.contains_key(group)
    }

    /// Whether the group is served in that version.
    pub fn has_version(&self, group: &str, version: &str) -> bool {
        self.index
            .get(group)
            .is_some_and(|versions| versions.contains_key(version))
    }

    /// Whether all of the group was declared by definitions.
    pub fn is_custom_group(&self, group: &str) -> bool {
        let declared = |resources: &HashMap<_, Arc<Resource>>| {
            resources.values().all(|resource| resource.custom.is_some())
        };
        self.index
            .get(group)
            .is_some_and(|versions| versions.values().all(declared))
    }

    /// The resource of that name.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.index.get(group)?.get(version)?.get(plural)
    }
}

impl RegistryBuilder {
    /// Adds a resource. Groups and versions keep the order in which they first appear.
    pub fn add(&mut self, resource: Resource) -> &mut Self {
        self.add_shared(Arc::new(resource))
    }

    /// Adds a resource that is served elsewhere too, or was before.
    pub fn add_shared(&mut self, resource: Arc<Resource>) -> &mut Self {
        let group_version = resource.group_version.clone();
        let group = match self
            .groups
            .iter_mut()
            .position(|g| g.name == group_version.group)
        {
            Some(i) => &mut self.groups[i],
            None => {
                self.groups.push(Group {
                    name: group_version.group,
                    versions: Vec::new(),
                });
                self.groups.last_mut().expect("just pushed")
            }
        };
        match group
            .versions
            .iter_mut()
            .find(|(v, _)| *v == group_version.version)
        {
            Some((_, resources)) => resources.push(resource),
            None => group.versions.push((group_version.version, vec![resource])),
        }
        self
    }

    /// Done.
    pub fn build(self) -> Registry {
        let mut index: HashMap<String, HashMap<String, HashMap<_, _>>> = HashMap::new();
        for group in &self.groups {
            let versions = index.entry(group.name.clone()).or_default();
            for (version, resources) in &group.versions {
                let by_name = versions.entry(version.clone()).or_default();
                for resource in resources {
                    by_name.insert(resource.plural.clone(), resource.clone());
                }
            }
        }
        Registry {
            groups: self.groups,
            index,
        }
    }
}

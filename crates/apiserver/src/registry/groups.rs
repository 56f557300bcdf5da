//! [`Registry`]: the resources that a server serves, by group and version.
//!
//! It is immutable. A change, such as a new CustomResourceDefinition, swaps in another registry, so that a request sees one
//! consistent registry from start to finish.

use std::{collections::HashMap, sync::Arc};

use super::resource::Resource;

/// An API group: versions in the order of preference, each with its resources.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::registry::{RegistryBuilder, Resource, ResourceSpec};
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use kubewright_store::MemoryStore;
///
/// let mut builder = RegistryBuilder::default();
/// for version in ["v2", "v1"] {
///     let kind = GroupVersionKind::new("sky.example.com", version, "Comet");
///     builder.add(Resource::stored(ResourceSpec::new(kind, "comets"), Arc::new(MemoryStore::new())));
/// }
/// let registry = builder.build();
/// let sky = &registry.groups()[0];
/// assert_eq!((sky.name.as_str(), sky.versions.len()), ("sky.example.com", 2));
/// assert_eq!(sky.versions[0].0, "v2", "the preferred version");
/// ```
#[derive(Clone, Default)]
pub struct Group {
    /// The name; empty for the core group.
    pub name: String,
    /// The versions and their resources, preferred version first.
    pub versions: Vec<(String, Vec<Arc<Resource>>)>,
}

/// The resources that a server serves.
///
/// ```
/// use kubewright_apiserver::registry::{Handlers, RegistryBuilder, Resource, ResourceSpec};
/// use kubewright_machinery::gvk::GroupVersionKind;
///
/// let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
/// let mut builder = RegistryBuilder::default();
/// builder.add(Resource::computed(ResourceSpec::new(kind, "comets"), Handlers::default()));
/// let registry = builder.build();
///
/// let comets = registry.resource("sky.example.com", "v1", "comets").expect("a resource");
/// assert_eq!(comets.spec().singular, "comet");
/// assert!(!registry.has_group("sea.example.com"));
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    groups: Vec<Group>,
    /// Resources by group, version and plural. The maps are nested so that a lookup does not allocate.
    index: HashMap<String, HashMap<String, HashMap<String, Arc<Resource>>>>,
}

/// Collects resources into a [`Registry`].
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::registry::{RegistryBuilder, Resource, ResourceSpec};
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use kubewright_store::MemoryStore;
///
/// let mut builder = RegistryBuilder::default();
/// for (kind, plural) in [("Comet", "comets"), ("Planet", "planets")] {
///     let kind = GroupVersionKind::new("sky.example.com", "v1", kind);
///     builder.add(Resource::stored(ResourceSpec::new(kind, plural), Arc::new(MemoryStore::new())));
/// }
/// let registry = builder.build();
/// assert!(registry.has_group("sky.example.com"));
/// assert!(registry.resource("sky.example.com", "v1", "planets").is_some());
/// ```
#[derive(Default)]
pub struct RegistryBuilder {
    groups: Vec<Group>,
}

impl Registry {
    /// Returns the groups in the order of discovery.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Returns whether the group is served in any version.
    pub fn has_group(&self, group: &str) -> bool {
        self.index.contains_key(group)
    }

    /// Returns whether all resources of the group are custom.
    pub fn is_custom_group(&self, group: &str) -> bool {
        let custom = |resources: &HashMap<_, Arc<Resource>>| {
            resources.values().all(|resource| resource.custom.is_some())
        };
        self.index
            .get(group)
            .is_some_and(|versions| versions.values().all(custom))
    }

    /// Returns the resource of that name.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.index.get(group)?.get(version)?.get(plural)
    }
}

impl RegistryBuilder {
    /// Adds a resource. Groups and versions keep the order in which they first appear.
    pub fn add(&mut self, resource: impl Into<Resource>) -> &mut Self {
        self.add_shared(Arc::new(resource.into()))
    }

    /// Adds a resource that other registries hold too.
    pub fn add_shared(&mut self, resource: Arc<Resource>) -> &mut Self {
        let group_version = resource.spec.group_version.clone();
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

    /// Builds the registry.
    pub fn build(self) -> Registry {
        let mut index: HashMap<String, HashMap<String, HashMap<_, _>>> = HashMap::new();
        for group in &self.groups {
            let versions = index.entry(group.name.clone()).or_default();
            for (version, resources) in &group.versions {
                let by_name = versions.entry(version.clone()).or_default();
                for resource in resources {
                    by_name.insert(resource.spec.plural.clone(), resource.clone());
                }
            }
        }
        Registry {
            groups: self.groups,
            index,
        }
    }
}

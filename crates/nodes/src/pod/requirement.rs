//! [`Requirement`]: the objects that a pod cannot start without, and the errors of a kubelet that lacks them.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use serde::{Deserialize, de::IgnoredAny};

use super::{
    plan::{ContainerPlan, KeyRef, Plan},
    volume::{Source, VolumePlan},
};

/// A config map that a controller keeps in every namespace. Pods do not wait for it, so that no controller is needed.
const ROOT_CERTIFICATES: &str = "kube-root-ca.crt";

/// The kind of a required object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RequiredKind {
    ConfigMap,
    Secret,
    Claim,
}

/// An object that a container or volume needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirement<'a> {
    pub(crate) kind: RequiredKind,
    pub(crate) name: Cow<'a, str>,
    /// The keys that it must have.
    keys: Vec<&'a str>,
    user: User<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User<'a> {
    /// The environment of the container with a number.
    Environment(usize),
    Volume(&'a str),
}

/// A reason for which a pod or container cannot start yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A volume cannot be mounted.
    Mount(String),
    /// The environment of the container with a number cannot be determined.
    Environment(usize, String),
}

/// The objects that exist, and the parts of them that pods need.
pub(crate) type Found<'a> = HashMap<(RequiredKind, Cow<'a, str>), FoundObject>;

/// The parts of an object that pods need.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FoundObject {
    metadata: FoundMetadata,
    data: BTreeMap<String, IgnoredAny>,
    binary_data: BTreeMap<String, IgnoredAny>,
    spec: FoundSpec,
    status: FoundStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FoundMetadata {
    deletion_timestamp: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FoundSpec {
    volume_name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FoundStatus {
    phase: String,
}

impl RequiredKind {
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
            Self::Claim => "persistentvolumeclaims",
        }
    }

    /// Returns the kind, as messages about missing objects and missing keys name it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::ConfigMap => ("configmap", "ConfigMap"),
            Self::Secret => ("secret", "Secret"),
            Self::Claim => ("persistentvolumeclaim", "PersistentVolumeClaim"),
        }
    }
}

impl Plan {
    /// Returns the objects without which the pod cannot start. Volumes that are mounted need nothing.
    pub(crate) fn requirements(&self, is_mounted: bool) -> Vec<Requirement<'_>> {
        let mut all = Vec::new();
        for (i, container) in self.containers.iter().enumerate() {
            container.add_requirements(i, &mut all);
        }
        if !is_mounted {
            for volume in &self.spec.volumes {
                volume.add_requirements(self.key.name(), &mut all);
            }
        }
        all
    }

    /// Compares the requirements with the objects that exist.
    pub(crate) fn problems(&self, needed: &[Requirement<'_>], found: &Found<'_>) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut claims: Vec<(&str, String)> = Vec::new();
        let mut volumes: Vec<(&str, Vec<String>)> = Vec::new();
        let mut failed = BTreeSet::new();
        for one in needed {
            let object = found.get(&(one.kind, one.name.clone()));
            match (one.user, one.kind) {
                (User::Environment(container), _) => {
                    // The first error of a container counts.
                    if let Some(message) = one.environment_error(object, self.namespace())
                        && failed.insert(container)
                    {
                        problems.push(Problem::Environment(container, message));
                    }
                }
                (User::Volume(volume), RequiredKind::Claim) => {
                    if let Some(message) = one.claim_error(object, self.namespace()) {
                        claims.push((volume, message));
                    }
                }
                (User::Volume(volume), _) => {
                    let Some(message) = one.volume_error(object) else {
                        continue;
                    };
                    match volumes.last_mut().filter(|(name, _)| *name == volume) {
                        Some((_, messages)) => messages.push(message),
                        None => volumes.push((volume, vec![message])),
                    }
                }
            }
        }
        if !claims.is_empty() {
            let names: Vec<&str> = claims.iter().map(|(name, _)| *name).collect();
            let messages: Vec<&str> = claims.iter().map(|(_, text)| text.as_str()).collect();
            let (names, messages) = (names.join(" "), messages.join("; "));
            problems.push(Problem::Mount(format!(
                "Unable to attach or mount volumes: unmounted volumes=[{names}], unattached volumes=[], failed to process volumes=[{names}]: {messages}"
            )));
        }
        problems.extend(volumes.into_iter().map(|(volume, messages)| {
            let messages = match messages.as_slice() {
                [message] => message.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            let text = format!("MountVolume.SetUp failed for volume \"{volume}\" : {messages}");
            Problem::Mount(text)
        }));
        problems
    }
}

impl ContainerPlan {
    fn add_requirements<'a>(&'a self, i: usize, all: &mut Vec<Requirement<'a>>) {
        let mut add = |kind, reference: &'a Option<KeyRef>| {
            let Some(reference) = reference else { return };
            if reference.optional || reference.name.is_empty() {
                return;
            }
            all.push(Requirement {
                kind,
                name: reference.name.as_str().into(),
                keys: match reference.key.as_str() {
                    "" => Vec::new(),
                    key => vec![key],
                },
                user: User::Environment(i),
            });
        };
        for from in &self.raw.env_from {
            add(RequiredKind::ConfigMap, &from.config_map_ref);
            add(RequiredKind::Secret, &from.secret_ref);
        }
        for env in &self.raw.env {
            add(RequiredKind::ConfigMap, &env.value_from.config_map_key_ref);
            add(RequiredKind::Secret, &env.value_from.secret_key_ref);
        }
    }
}

impl VolumePlan {
    fn add_requirements<'a>(&'a self, pod: &str, all: &mut Vec<Requirement<'a>>) {
        let user = User::Volume(&self.name);
        if let Some(name) = self.claim(pod) {
            all.push(Requirement {
                kind: RequiredKind::Claim,
                name,
                keys: Vec::new(),
                user,
            });
        }
        for (source, _) in self.sources() {
            let (kind, name, items, optional) = match source {
                Source::ConfigMap {
                    name,
                    items,
                    optional,
                } => (RequiredKind::ConfigMap, name, items, optional),
                Source::Secret {
                    name,
                    items,
                    optional,
                } => (RequiredKind::Secret, name, items, optional),
                Source::Downward { .. } | Source::Token { .. } => continue,
            };
            let is_kept = kind == RequiredKind::ConfigMap && name == ROOT_CERTIFICATES;
            if !optional && !is_kept {
                all.push(Requirement {
                    kind,
                    name: name.into(),
                    keys: items.iter().map(|item| item.key.as_str()).collect(),
                    user,
                });
            }
        }
    }
}

impl Requirement<'_> {
    fn not_found(&self) -> String {
        format!("{} \"{}\" not found", self.kind.names().0, self.name)
    }

    fn environment_error(&self, object: Option<&FoundObject>, namespace: &str) -> Option<String> {
        let Some(object) = object else {
            return Some(self.not_found());
        };
        // Binary data is not part of an environment.
        let key = self
            .keys
            .iter()
            .find(|key| !object.data.contains_key(**key))?;
        let (kind, name) = (self.kind.names().1, &self.name);
        Some(format!(
            "couldn't find key {key} in {kind} {namespace}/{name}"
        ))
    }

    fn volume_error(&self, object: Option<&FoundObject>) -> Option<String> {
        let Some(object) = object else {
            return Some(self.not_found());
        };
        let has = |key: &str| object.data.contains_key(key) || object.binary_data.contains_key(key);
        let key = self.keys.iter().find(|key| !has(key))?;
        Some(match self.kind {
            RequiredKind::Secret => format!("references non-existent secret key: {key}"),
            _ => format!("configmap references non-existent config key: {key}"),
        })
    }

    fn claim_error(&self, object: Option<&FoundObject>, namespace: &str) -> Option<String> {
        let name = &self.name;
        let why = match object {
            None => format!(
                "failed to fetch PVC from API server: persistentvolumeclaims \"{name}\" not found"
            ),
            Some(claim) if claim.metadata.deletion_timestamp.is_some() => {
                "PVC is being deleted".to_owned()
            }
            Some(claim) if claim.status.phase != "Bound" => "PVC is not bound".to_owned(),
            Some(claim) if claim.spec.volume_name.is_empty() => {
                "PVC has empty pvc.Spec.VolumeName".to_owned()
            }
            Some(_) => return None,
        };
        Some(format!("error processing PVC {namespace}/{name}: {why}"))
    }
}

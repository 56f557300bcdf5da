//! [`PodVolumes`]: the volumes of a pod, and the nodes that can reach them.

use std::{collections::HashSet, sync::Arc};

use kubewright_informer::Key;

use super::{
    Volumes,
    objects::{Claim, Class, Volume},
};
use crate::{filter::Rejection, node::NodeInfo, pod::Template};

/// The reason for nodes that a bound volume cannot be reached from.
const CONFLICT: &str = "node(s) didn't match PersistentVolume's node affinity";

/// The reason for nodes on which there is no volume for a claim.
const UNAVAILABLE: &str = "node(s) didn't find available persistent volumes to bind";

/// The reason for claims whose volume does not exist.
const NO_VOLUME: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// The volumes of a pod.
#[derive(Debug, Default)]
pub(crate) struct PodVolumes {
    bound: Vec<Arc<Volume>>,
    /// Whether a claim is bound to a volume that does not exist.
    is_incomplete: bool,
    /// The claims that wait for their first pod, the smallest first.
    unbound: Vec<Unbound>,
}

/// A claim that waits for its first pod.
#[derive(Debug)]
struct Unbound {
    claim: Arc<Claim>,
    class: Arc<Class>,
    /// The volumes that suit it, those that are meant for it first, then by size.
    candidates: Vec<Arc<Volume>>,
}

/// The reason for which no node can run a pod yet.
#[derive(Debug)]
pub(crate) struct Unready {
    pub(crate) message: String,
    /// The claim that does not exist.
    pub(crate) missing: Option<Key>,
}

/// The writes that give a pod its volumes on the chosen node.
#[derive(Clone, Debug, Default)]
pub(crate) struct VolumeChoice {
    pub(crate) node: String,
    /// The volumes to bind to claims.
    pub(crate) bindings: Vec<(Arc<Volume>, Arc<Claim>)>,
    /// The claims to provision volumes for.
    pub(crate) provisioned: Vec<Arc<Claim>>,
    /// All claims of the pod that are not bound yet.
    pub(crate) unbound: Vec<Key>,
}

impl Volumes {
    /// Returns the volumes of a pod.
    ///
    /// # Errors
    ///
    /// Fails if a claim does not exist, or waits for something else than a pod.
    pub(crate) fn of(&self, pod: &Template) -> Result<PodVolumes, Unready> {
        let mut found = PodVolumes::default();
        let unready = |message: String| Unready {
            message,
            missing: None,
        };
        let mut has_immediate = false;
        for wanted in &pod.claims {
            let (key, name) = (Key::new(Some(&pod.namespace), &wanted.name), &wanted.name);
            let Some(claim) = self.claims.get(&key) else {
                let message = match wanted.is_ephemeral {
                    true => format!(
                        "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{name}\""
                    ),
                    false => format!("persistentvolumeclaim \"{name}\" not found"),
                };
                let missing = Some(key);
                return Err(Unready { message, missing });
            };
            if claim.is_lost() {
                let volume = &claim.spec.volume_name;
                return Err(unready(format!(
                    "persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \"{volume}\""
                )));
            }
            if claim.metadata.is_deleted() {
                let message = format!("persistentvolumeclaim \"{name}\" is being deleted");
                return Err(unready(message));
            }
            let class = self.classes.get(claim.class());
            match (claim.bound_to(), class) {
                (Some(volume), _) => match self.volumes.get(volume) {
                    Some(volume) => found.bound.push(volume.clone()),
                    None => found.is_incomplete = true,
                },
                (None, Some(class)) if class.is_delayed() && claim.spec.volume_name.is_empty() => {
                    found.unbound.push(self.unbound(claim, class));
                }
                (None, _) => has_immediate = true,
            }
        }
        if has_immediate {
            let message = "pod has unbound immediate PersistentVolumeClaims";
            return Err(unready(message.to_owned()));
        }
        found
            .unbound
            .sort_by(|one, other| one.claim.size().cmp(other.claim.size()));
        Ok(found)
    }

    fn unbound(&self, claim: &Arc<Claim>, class: &Arc<Class>) -> Unbound {
        let suitable = self.volumes.values().filter(|volume| volume.suits(claim));
        let mut candidates: Vec<Arc<Volume>> = suitable.cloned().collect();
        candidates.sort_by(|one, other| {
            let order = |volume: &Volume| !volume.is_meant_for(claim);
            order(one)
                .cmp(&order(other))
                .then_with(|| one.size().cmp(other.size()))
                .then_with(|| one.metadata.name.cmp(&other.metadata.name))
        });
        Unbound {
            claim: claim.clone(),
            class: class.clone(),
            candidates,
        }
    }
}

impl PodVolumes {
    /// Checks whether a node can reach the volumes.
    pub(crate) fn check(&self, node: &NodeInfo) -> Result<(), Rejection> {
        if self.bound.is_empty() && self.unbound.is_empty() && !self.is_incomplete {
            return Ok(());
        }
        let mut reasons = Vec::new();
        if self.is_incomplete {
            reasons.push(NO_VOLUME.into());
        }
        if self
            .bound
            .iter()
            .any(|volume| !volume.is_reachable_from(node))
        {
            reasons.push(CONFLICT.into());
        }
        if self.choose(node).is_none() {
            reasons.push(UNAVAILABLE.into());
        }
        match reasons.is_empty() {
            true => Ok(()),
            false => Err(Rejection {
                reasons,
                is_resolvable: false,
            }),
        }
    }

    /// Chooses the volumes for a node. Returns `None` if there are none.
    pub(crate) fn choose(&self, node: &NodeInfo) -> Option<VolumeChoice> {
        let mut choice = VolumeChoice {
            node: node.name.clone(),
            ..VolumeChoice::default()
        };
        let mut taken = HashSet::new();
        for unbound in &self.unbound {
            let claim = &unbound.claim;
            choice.unbound.push(super::key_of(claim));
            if let Some(selected) = claim.selected_node() {
                // A volume is being provisioned.
                if selected != node.name {
                    return None;
                }
                continue;
            }
            let is_meant = |volume: &Arc<Volume>| volume.is_meant_for(claim);
            let chosen = match unbound.candidates.first().filter(|first| is_meant(first)) {
                // A volume that is meant for the claim is the only one.
                Some(meant) => {
                    if !meant.is_reachable_from(node) {
                        return None;
                    }
                    if meant.spec.claim_ref == Some(claim.reference()) {
                        continue;
                    }
                    Some(meant)
                }
                None => unbound.candidates.iter().find(|volume| {
                    volume.is_reachable_from(node) && !taken.contains(&volume.metadata.name)
                }),
            };
            match chosen {
                Some(volume) => {
                    taken.insert(volume.metadata.name.clone());
                    choice.bindings.push((volume.clone(), claim.clone()));
                }
                None if unbound.class.provisions_for(node) => {
                    choice.provisioned.push(claim.clone());
                }
                None => return None,
            }
        }
        Some(choice)
    }
}

impl VolumeChoice {
    /// Reports whether the pod can be bound immediately.
    pub(crate) fn is_bound(&self) -> bool {
        self.unbound.is_empty()
    }
}

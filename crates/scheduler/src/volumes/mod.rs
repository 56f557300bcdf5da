//! Volumes: which nodes can reach the volumes of a pod, and the choice of volumes for claims that wait for their first pod.
//!
//! | module | contents |
//! |---|---|
//! | `objects` | claims, volumes and storage classes |
//! | `choice` | the volumes of a pod: a filter of nodes, and the volumes for the chosen node |
//! | `waiting` | pods that have a node, and wait for their volumes to be bound |

mod choice;
mod objects;
mod waiting;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use kubewright_informer::{Event, Key};
use serde::de::DeserializeOwned;

pub(crate) use choice::{PodVolumes, VolumeChoice};
pub(crate) use objects::SELECTED_NODE;
pub(crate) use waiting::Waiting;

use objects::{Claim, ClaimRef, Class, Volume};

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The claims, volumes and storage classes of the cluster.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    claims: Map<Key, Arc<Claim>>,
    volumes: Map<String, Arc<Volume>>,
    classes: Map<String, Arc<Class>>,
    /// The nodes that are being written to claims.
    selected: Map<Key, String>,
    /// The claims that are being written to volumes.
    taken: Map<String, ClaimRef>,
}

/// The versions of claims and volumes after a choice has been written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) claims: BTreeMap<Key, String>,
    pub(crate) volumes: BTreeMap<String, String>,
}

impl Volumes {
    /// Handles a change of a claim.
    pub(crate) fn claim(&mut self, event: &Event<()>) {
        let key = event.key();
        let Some(mut claim) = decoded::<Claim>(event) else {
            self.claims.remove(key);
            return;
        };
        let known = self.claims.get(key);
        if known.is_some_and(|known| known.metadata.is_newer_than(&claim.metadata)) {
            return;
        }
        if let Some(node) = self.selected.get(key) {
            claim.select(node);
        }
        self.claims.insert(key.clone(), Arc::new(claim));
    }

    /// Handles a change of a volume.
    pub(crate) fn volume(&mut self, event: &Event<()>) {
        let name = event.key().name();
        let Some(mut volume) = decoded::<Volume>(event) else {
            self.volumes.remove(name);
            return;
        };
        let known = self.volumes.get(name);
        if known.is_some_and(|known| known.metadata.is_newer_than(&volume.metadata)) {
            return;
        }
        if let Some(claim) = self.taken.get(name) {
            volume.spec.claim_ref = Some(claim.clone());
        }
        self.volumes.insert(name.to_owned(), Arc::new(volume));
    }

    /// Handles a change of a storage class.
    pub(crate) fn class(&mut self, event: &Event<()>) {
        let name = event.key().name();
        match decoded(event) {
            Some(class) => drop(self.classes.insert(name.to_owned(), Arc::new(class))),
            None => drop(self.classes.remove(name)),
        }
    }

    /// Assumes that the choice for a pod has been written, so that other pods choose accordingly.
    pub(crate) fn assume(&mut self, choice: &VolumeChoice) {
        for (volume, claim) in &choice.bindings {
            let name = &volume.metadata.name;
            self.taken.insert(name.clone(), claim.reference());
            if let Some(known) = self.volumes.get_mut(name) {
                Arc::make_mut(known).spec.claim_ref = Some(claim.reference());
            }
        }
        for claim in &choice.provisioned {
            self.selected.insert(key_of(claim), choice.node.clone());
            if let Some(known) = self.claims.get_mut(&key_of(claim)) {
                Arc::make_mut(known).select(&choice.node);
            }
        }
    }

    /// Notes that a choice has been written. Older versions are ignored from now on.
    pub(crate) fn confirm(&mut self, choice: &VolumeChoice, written: &Written) {
        self.release(choice);
        for (name, version) in &written.volumes {
            if let Some(known) = self.volumes.get_mut(name) {
                Arc::make_mut(known).metadata.advance(version);
            }
        }
        for (key, version) in &written.claims {
            if let Some(known) = self.claims.get_mut(key) {
                Arc::make_mut(known).metadata.advance(version);
            }
        }
    }

    /// Withdraws the assumptions about a choice that could not be written.
    pub(crate) fn forget(&mut self, choice: &VolumeChoice) {
        self.release(choice);
        for (volume, claim) in &choice.bindings {
            if let Some(known) = self.volumes.get_mut(&volume.metadata.name)
                && known.spec.claim_ref == Some(claim.reference())
            {
                let before = volume.spec.claim_ref.clone();
                Arc::make_mut(known).spec.claim_ref = before;
            }
        }
        for claim in &choice.provisioned {
            if let Some(known) = self.claims.get_mut(&key_of(claim))
                && known.selected_node() == Some(&choice.node)
            {
                Arc::make_mut(known)
                    .metadata
                    .annotations
                    .remove(SELECTED_NODE);
            }
        }
    }

    fn release(&mut self, choice: &VolumeChoice) {
        for (volume, _) in &choice.bindings {
            self.taken.remove(&volume.metadata.name);
        }
        for claim in &choice.provisioned {
            self.selected.remove(&key_of(claim));
        }
    }
}

fn key_of(claim: &Claim) -> Key {
    Key::new(Some(&claim.metadata.namespace), &claim.metadata.name)
}

/// Decodes an object. Returns `None` if it was deleted.
fn decoded<T: DeserializeOwned>(event: &Event<()>) -> Option<T> {
    match event {
        Event::Deleted { .. } => None,
        Event::Added { object, .. } | Event::Updated { object, .. } => {
            let decoded = serde_json::from_slice(&object.json());
            let key = event.key();
            decoded
                .inspect_err(|error| tracing::warn!(%key, %error, "cannot decode an object"))
                .ok()
        }
    }
}

//! The owners of claims: a claim is deleted with its owner, which is the set or the pod, as the policy of the set says.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};

use super::identity::ordinal;
use crate::workloads::objects::{
    PersistentVolumeClaim, Pod, Retention, StatefulSet, controller_reference,
};

/// The owners that a claim may have because of the policy.
pub(super) struct Owners<'a> {
    pub(super) set: &'a StatefulSet,
    pub(super) pod: &'a Pod,
}

impl Owners<'_> {
    /// Reports whether the owners of a claim are those that the policy asks for.
    pub(super) fn are_right(&self, claim: &PersistentVolumeClaim) -> bool {
        if has_stale(claim, self.set) || has_stale(claim, self.pod) {
            // The garbage collector is about to delete the claim.
            return true;
        }
        let (of_set, of_pod) = (has(claim, self.set), has(claim, self.pod));
        if self.has_other_controller(claim) {
            return !of_set && !of_pod;
        }
        let ours = claim.owner_references().iter().filter(|owner| {
            [&self.set.metadata.uid, &self.pod.metadata.uid].contains(&&Some(owner.uid.clone()))
        });
        if ours.into_iter().any(|owner| owner.controller != Some(true)) {
            return false;
        }
        (of_set, of_pod) == self.wanted()
    }

    /// Reports whether the set and the pod should own the claim.
    fn wanted(&self) -> (bool, bool) {
        let policy = &self.set.spec.persistent_volume_claim_retention_policy;
        let in_range = ordinal(self.pod).is_some_and(|own| self.set.ordinals().contains(&own));
        match (policy.when_scaled, policy.when_deleted) {
            (Retention::Retain, Retention::Retain) => (false, false),
            (Retention::Retain, Retention::Delete) => (true, false),
            (Retention::Delete, Retention::Retain) => (false, !in_range),
            (Retention::Delete, Retention::Delete) => (in_range, !in_range),
        }
    }

    /// Reports whether something else controls the claim, so that the policy cannot be followed.
    pub(super) fn has_other_controller(&self, claim: &PersistentVolumeClaim) -> bool {
        let policy = &self.set.spec.persistent_volume_claim_retention_policy;
        if [policy.when_scaled, policy.when_deleted] == [Retention::Retain; 2] {
            return false;
        }
        claim.owner_references().iter().any(|owner| {
            if refers_to(owner, self.set) {
                Some(&owner.uid) != self.set.metadata.uid.as_ref()
            } else if refers_to(owner, self.pod) {
                Some(&owner.uid) != self.pod.metadata.uid.as_ref()
            } else {
                owner.controller == Some(true)
            }
        })
    }

    /// Returns the owners that a claim should have.
    pub(super) fn corrected(&self, claim: &PersistentVolumeClaim) -> Vec<OwnerReference> {
        let is_foreign =
            |owner: &&OwnerReference| !refers_to(owner, self.set) && !refers_to(owner, self.pod);
        let owners = claim.owner_references().iter().filter(is_foreign);
        let mut owners: Vec<OwnerReference> = owners.cloned().collect();
        if !self.has_other_controller(claim) {
            let (by_set, by_pod) = self.wanted();
            owners.extend(by_set.then(|| controller_reference(self.set)));
            owners.extend(by_pod.then(|| controller_reference(self.pod)));
        }
        owners
    }
}

/// Reports whether a claim is owned by an object of that name that is gone.
pub(super) fn has_stale<K: Resource<DynamicType = ()>>(
    claim: &PersistentVolumeClaim,
    object: &K,
) -> bool {
    let mut owners = claim.owner_references().iter();
    let owner = owners.find(|owner| refers_to(owner, object));
    owner.is_some_and(|owner| Some(&owner.uid) != object.meta().uid.as_ref())
}

fn has<K: Resource>(claim: &PersistentVolumeClaim, object: &K) -> bool {
    let mut owners = claim.owner_references().iter();
    owners.any(|owner| Some(&owner.uid) == object.meta().uid.as_ref())
}

fn refers_to<K: Resource<DynamicType = ()>>(owner: &OwnerReference, object: &K) -> bool {
    owner.api_version == K::api_version(&())
        && owner.kind == K::kind(&())
        && Some(&owner.name) == object.meta().name.as_ref()
}

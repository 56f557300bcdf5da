//! The volume that suits a claim best: with the fewest access modes, and then the smallest.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::core::v1::{PersistentVolume, PersistentVolumeClaim},
    apimachinery::pkg::api::resource::Quantity as Text,
};
use kube::ResourceExt;
use kubewright_machinery::{labels::LabelSelector, quantity::Quantity};

use super::classes;

/// The requirements of a claim.
pub(super) struct Wanted<'a> {
    claim: &'a PersistentVolumeClaim,
    /// True if only a volume that was meant for the claim will do.
    pub(super) only_prebound: bool,
}

impl<'a> Wanted<'a> {
    pub(super) fn by(claim: &'a PersistentVolumeClaim) -> Self {
        Self {
            claim,
            only_prebound: false,
        }
    }

    /// Returns why a volume that the claim names does not suit it.
    pub(super) fn mismatch(&self, volume: &PersistentVolume) -> Option<String> {
        if volume.metadata.deletion_timestamp.is_some() {
            return Some(format!(
                "the volume is marked for deletion {:?}",
                volume.name_any()
            ));
        }
        let reason = if capacity_of(volume).unwrap_or_else(Quantity::zero) < request_of(self.claim)
        {
            "requested PV is too small"
        } else if class_of(volume) != classes::class_of(self.claim) {
            "storageClassName does not match"
        } else if !self.has_attributes(volume) {
            "volumeAttributesClassName does not match"
        } else if !has_mode(self.claim, volume) {
            "incompatible volumeMode"
        } else if !self.has_access(volume) {
            "incompatible accessMode"
        } else {
            return None;
        };
        Some(reason.to_owned())
    }

    fn has_attributes(&self, volume: &PersistentVolume) -> bool {
        let spec = self.claim.spec.as_ref();
        let wanted = spec.and_then(|spec| spec.volume_attributes_class_name.as_deref());
        let spec = volume.spec.as_ref();
        let found = spec.and_then(|spec| spec.volume_attributes_class_name.as_deref());
        wanted.unwrap_or_default() == found.unwrap_or_default()
    }

    fn has_access(&self, volume: &PersistentVolume) -> bool {
        let spec = self.claim.spec.as_ref();
        let mut wanted = spec
            .iter()
            .flat_map(|spec| spec.access_modes.iter().flatten());
        let found = modes_of(volume);
        wanted.all(|mode| found.contains(mode))
    }

    fn selects(&self, volume: &PersistentVolume) -> bool {
        let Some(selector) = self
            .claim
            .spec
            .as_ref()
            .and_then(|spec| spec.selector.as_ref())
        else {
            return true;
        };
        let selector = serde_json::to_value(selector).unwrap_or_default();
        let labels = volume.labels();
        LabelSelector::from_label_selector(&selector)
            .is_ok_and(|selector| selector.matches(|name| labels.get(name).map(String::as_str)))
    }

    /// Reports whether a volume is one that could be bound, and whether it was meant for the claim.
    fn suits(&self, volume: &PersistentVolume) -> Option<bool> {
        let is_large = capacity_of(volume)? >= request_of(self.claim);
        let is_usable = is_large
            && self.has_access(volume)
            && has_mode(self.claim, volume)
            && self.has_attributes(volume)
            && volume.metadata.deletion_timestamp.is_none();
        if !is_usable {
            return None;
        }
        let is_claimed = volume
            .spec
            .as_ref()
            .is_some_and(|spec| spec.claim_ref.is_some());
        if is_claimed {
            return is_meant_for(volume, self.claim).then_some(true);
        }
        let phase = volume
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        let is_free = !self.only_prebound
            && phase == Some("Available")
            && self.selects(volume)
            && class_of(volume) == classes::class_of(self.claim);
        is_free.then_some(false)
    }
}

/// Returns the volume that suits a claim best. One that was meant for the claim is better than any other.
pub(super) fn best_match(
    wanted: &Wanted<'_>,
    volumes: &[Arc<PersistentVolume>],
) -> Option<Arc<PersistentVolume>> {
    let suitable = volumes.iter().filter_map(|volume| {
        let is_prebound = wanted.suits(volume)?;
        let key = (
            !is_prebound,
            modes_of(volume).len(),
            capacity_of(volume)?,
            volume.name_any(),
        );
        Some((key, volume))
    });
    let best = suitable.min_by(|(a, _), (b, _)| a.cmp(b));
    best.map(|(_, volume)| volume.clone())
}

/// Reports whether a volume is bound to a claim, or was made for it.
pub(super) fn is_meant_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let Some(meant) = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.claim_ref.as_ref())
    else {
        return false;
    };
    let uid = meant.uid.as_deref().unwrap_or_default();
    meant.name.as_deref() == Some(&claim.name_any())
        && meant.namespace == claim.namespace()
        && (uid.is_empty() || Some(uid) == claim.metadata.uid.as_deref())
}

/// Reports whether claim and volume are both file systems or both blocks.
pub(super) fn has_mode(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> bool {
    const DEFAULT: &str = "Filesystem";
    let wanted = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_mode.as_deref());
    let found = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_mode.as_deref());
    wanted.unwrap_or(DEFAULT) == found.unwrap_or(DEFAULT)
}

fn class_of(volume: &PersistentVolume) -> &str {
    let annotated = volume
        .annotations()
        .get("volume.beta.kubernetes.io/storage-class");
    let spec = volume.spec.as_ref();
    let field = || spec.and_then(|spec| spec.storage_class_name.as_deref());
    annotated
        .map(String::as_str)
        .or_else(field)
        .unwrap_or_default()
}

fn modes_of(volume: &PersistentVolume) -> &[String] {
    let spec = volume.spec.as_ref();
    spec.and_then(|spec| spec.access_modes.as_deref())
        .unwrap_or_default()
}

/// Returns the storage of a volume.
pub(super) fn capacity_of(volume: &PersistentVolume) -> Option<Quantity> {
    storage(volume.spec.as_ref()?.capacity.as_ref())
}

/// Returns the storage that a claim asks for.
fn request_of(claim: &PersistentVolumeClaim) -> Quantity {
    let resources = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let storage = resources.and_then(|resources| storage(resources.requests.as_ref()));
    storage.unwrap_or_else(Quantity::zero)
}

/// Returns the storage in a list of resources.
pub(super) fn storage(list: Option<&BTreeMap<String, Text>>) -> Option<Quantity> {
    Quantity::parse(&list?.get("storage")?.0).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claim(spec: Value) -> PersistentVolumeClaim {
        let mut claim = json!({
            "metadata": {"name": "c", "namespace": "default", "uid": "u"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}},
        });
        for (field, value) in spec.as_object().unwrap() {
            claim["spec"][field] = value.clone();
        }
        serde_json::from_value(claim).unwrap()
    }

    fn volume(name: &str, size: &str, spec: Value) -> Arc<PersistentVolume> {
        let mut volume = json!({
            "metadata": {"name": name, "labels": {"disk": name}},
            "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]},
            "status": {"phase": "Available"},
        });
        for (field, value) in spec.as_object().unwrap() {
            volume["spec"][field] = value.clone();
        }
        Arc::new(serde_json::from_value(volume).unwrap())
    }

    fn best(claim: &PersistentVolumeClaim, volumes: &[Arc<PersistentVolume>]) -> Option<String> {
        best_match(&Wanted::by(claim), volumes).map(|volume| volume.name_any())
    }

    #[test]
    fn the_smallest_volume_that_suits_is_taken() {
        let volumes = [
            volume("small", "4Gi", json!({})),
            volume("large", "20Gi", json!({})),
            volume("right", "6Gi", json!({})),
            volume(
                "many",
                "5Gi",
                json!({"accessModes": ["ReadWriteOnce", "ReadWriteMany"]}),
            ),
            volume("classy", "5Gi", json!({"storageClassName": "fast"})),
            volume("block", "5Gi", json!({"volumeMode": "Block"})),
        ];
        assert_eq!(best(&claim(json!({})), &volumes).unwrap(), "right");
        let fast = claim(json!({"storageClassName": "fast"}));
        assert_eq!(best(&fast, &volumes).unwrap(), "classy");
        let many = claim(json!({"accessModes": ["ReadWriteMany"]}));
        assert_eq!(best(&many, &volumes).unwrap(), "many");
        let selected = claim(json!({"selector": {"matchLabels": {"disk": "large"}}}));
        assert_eq!(best(&selected, &volumes).unwrap(), "large");
        assert_eq!(
            best(&claim(json!({"volumeMode": "Block"})), &volumes).unwrap(),
            "block"
        );
    }

    #[test]
    fn a_volume_that_was_meant_for_the_claim_is_taken_first() {
        let meant =
            |uid: &str| json!({"claimRef": {"namespace": "default", "name": "c", "uid": uid}});
        let volumes = [
            volume("right", "5Gi", json!({})),
            volume("meant", "50Gi", meant("")),
            volume("others", "5Gi", meant("another")),
        ];
        assert_eq!(best(&claim(json!({})), &volumes).unwrap(), "meant");
        let claim = claim(json!({}));
        let mut wanted = Wanted::by(&claim);
        wanted.only_prebound = true;
        assert!(best_match(&wanted, &volumes[..1]).is_none());
    }
}

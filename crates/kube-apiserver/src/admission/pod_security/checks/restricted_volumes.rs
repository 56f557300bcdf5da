//! The volumes of a pod hold objects of the API, claims, or data of the pod itself.

use std::collections::BTreeSet;

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::{Check, Pod, Violation, host_path_volumes, name, plural, quoted};

pub(super) const CHECK: Check = Check {
    id: "restrictedVolumes",
    revisions: &[(0, check)],
    replaces: host_path_volumes::CHECK.id,
};

const ALLOWED: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// The other sources of volumes, in the order in which they are looked for.
const FORBIDDEN: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

fn check(pod: &Pod<'_>) -> Option<Violation> {
    let volumes = pod.spec["volumes"].items().iter();
    let (bad, sources): (Vec<&str>, BTreeSet<&str>) = volumes
        .filter(|volume| first(volume, &ALLOWED).is_none())
        .map(|volume| {
            let source = first(volume, &FORBIDDEN).unwrap_or("unknown");
            (name(volume), source)
        })
        .unzip();
    if bad.is_empty() {
        return None;
    }
    let (one, more) = ("restricted volume type", "restricted volume types");
    let detail = format!(
        "{} {} {} {} {}",
        plural("volume", "volumes", bad.len()),
        quoted(&bad),
        plural("uses", "use", bad.len()),
        plural(one, more, sources.len()),
        quoted(sources)
    );
    Some(Violation::new(more, detail))
}

/// Returns the first of these sources that a volume has.
fn first<'a>(volume: &Value, sources: &[&'a str]) -> Option<&'a str> {
    let mut sources = sources.iter().copied();
    sources.find(|source| volume[*source].is_set())
}

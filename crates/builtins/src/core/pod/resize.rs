//! `pods/resize`: cpu and memory of running containers may change, and nothing else.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::{qos, strategy, validate::metadata_and_spec};
use crate::{
    general,
    json::{Read, Write, same},
    meta,
};

const ONLY: &str = "only cpu and memory resources are mutable";

/// Prepares an update of `/resize`, which changes only resources and resize policies.
pub fn prepare(new: &mut Value, old: &Value) {
    let lists = ["containers", "initContainers"];
    let fits = |list: &str| {
        let (after, before) = (new["spec"][list].items(), old["spec"][list].items());
        after.len() == before.len()
            && after
                .iter()
                .zip(before)
                .all(|(a, b)| a["name"] == b["name"])
    };
    if !lists.iter().all(|list| fits(list)) {
        return;
    }
    let asked = new["spec"].clone();
    general::copy(new, old, "spec");
    general::copy(new, old, "status");
    general::reset_metadata_for_status(new, old);
    let spec = new.field("spec");
    general::copy(spec, &asked, "resources");
    for list in lists {
        let mut wanted = asked[list].items().iter();
        spec.each(list, |c| {
            if let Some(w) = wanted.next() {
                general::copy(c, w, "resources");
                general::copy(c, w, "resizePolicy");
            }
        });
    }
    strategy::count_generation(new, old);
}

/// Validates a resize.
pub fn validate(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    errors.extend(metadata_and_spec(new));
    if old["spec"]["os"]["name"] == "windows" {
        return vec![field::forbidden(
            &Path::root(),
            "windows pods cannot be resized",
        )];
    }
    let path = Path::new("spec");
    if qos::class_of(old) != qos::class(&new["spec"]) {
        let class = new["status"]["qosClass"].text();
        let message = "Pod QOS Class may not change as a result of resizing";
        errors.push(field::invalid_str(&path, class, message));
    }
    for list in ["containers", "initContainers"] {
        let (after, before) = (new["spec"][list].items(), old["spec"][list].items());
        if after.len() != before.len() {
            errors.push(field::forbidden(&path, ONLY));
            return errors;
        }
        for (i, (a, b)) in after.iter().zip(before).enumerate() {
            if a["name"] != b["name"] {
                let path = path.child(list).index(i).child("name");
                errors.push(field::forbidden(
                    &path,
                    "containers may not be renamed or reordered on resize",
                ));
            }
            validate_container(
                a,
                b,
                &path.child(list).index(i).child("resources"),
                &mut errors,
            );
        }
    }
    if errors.is_empty()
        && !same(
            &without_compute(&new["spec"]),
            &without_compute(&old["spec"]),
        )
    {
        errors.push(field::forbidden(&path, ONLY));
    }
    errors
}

fn validate_container(new: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    for side in ["requests", "limits"] {
        let (after, before) = (&new["resources"][side], &old["resources"][side]);
        if before
            .entries()
            .iter()
            .any(|(name, _)| after.get(*name).is_none())
        {
            let message = format!("resource {side} cannot be removed");
            errors.push(field::forbidden(&path.child(side), message));
        }
    }
}

/// The spec without what a resize may change.
fn without_compute(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let strip = |holder: &mut Value| {
        holder.forget("resizePolicy");
        holder.with("resources", |r| {
            for side in ["requests", "limits"] {
                r.with(side, |list| {
                    list.forget("cpu");
                    list.forget("memory");
                });
                if r[side].is_blank() {
                    r.forget(side);
                }
            }
        });
        if holder["resources"].is_blank() {
            holder.forget("resources");
        }
    };
    spec.each("containers", strip);
    spec.each("initContainers", strip);
    strip(&mut spec);
    spec
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(cpu: &str, image: &str) -> Value {
        json!({
            "metadata": {"name": "p", "namespace": "n", "resourceVersion": "1", "generation": 1},
            "spec": {"containers": [{"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}}]},
            "status": {"qosClass": "Burstable"},
        })
    }

    #[test]
    fn a_resize_changes_resources_and_nothing_else() {
        let (mut new, old) = (pod("2", "other"), pod("1", "i"));
        prepare(&mut new, &old);
        assert_eq!(new["spec"]["containers"][0]["image"], "i");
        assert_eq!(
            new["spec"]["containers"][0]["resources"]["requests"]["cpu"],
            "2"
        );
        assert_eq!(new["metadata"]["generation"], 2);
    }

    #[test]
    fn a_resize_may_not_remove_a_request() {
        let (mut new, old) = (pod("1", "i"), pod("1", "i"));
        new["spec"]["containers"][0]["resources"] = json!({});
        prepare(&mut new, &old);
        let errors = validate(&new, &old);
        assert!(
            errors
                .iter()
                .any(|e| e.detail == "resource requests cannot be removed")
        );
    }
}

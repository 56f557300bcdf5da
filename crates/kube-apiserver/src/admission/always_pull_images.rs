//! `AlwaysPullImages`: images are pulled for every pod, so that no pod uses an image on the node without credentials for it.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{
    Status,
    field::{self, FieldError, Path},
    go,
    json::{Read, Write},
    status,
};
use serde_json::Value;

use super::forbidden::{forbidden, is_for};
use crate::pod_references;

const POLICY: &str = "Always";
/// The lists of containers, in the order in which they are visited.
const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The `AlwaysPullImages` plugin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AlwaysPullImages;

#[boxed_async]
impl Plugin for AlwaysPullImages {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for(cx, "", "pods")
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(pod) = object else { return Ok(()) };
        if !concerns(cx, attributes, pod) {
            return Ok(());
        }
        pod.with("spec", |spec| {
            for list in LISTS {
                spec.each(list, |container| container.put("imagePullPolicy", POLICY));
            }
            spec.each("volumes", |volume| {
                volume.with("image", |image| image.put("pullPolicy", POLICY));
            });
        });
        Ok(())
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(pod) = object else { return Ok(()) };
        if !concerns(cx, attributes, pod) {
            return Ok(());
        }
        let errors = errors(&pod["spec"]);
        if errors.is_empty() {
            return Ok(());
        }
        let texts = errors
            .iter()
            .map(|error| forbidden(cx, attributes, pod, error).message);
        Err(status::unknown(go::aggregate(texts)))
    }
}

/// Reports whether a request creates a pod, or gives it an image that it did not have.
fn concerns(cx: &RequestContext, attributes: &Attributes<'_>, pod: &Value) -> bool {
    if !is_for(cx, "", "pods") {
        return false;
    }
    let old = attributes.old.unwrap_or(&Value::Null);
    let has =
        |image: &Value| pod_references::containers(&old["spec"]).any(|c| c["image"] == *image);
    match attributes.operation {
        Operation::Create => true,
        Operation::Update => {
            pod_references::containers(&pod["spec"]).any(|container| !has(&container["image"]))
        }
        Operation::Delete | Operation::Connect => false,
    }
}

fn errors(spec: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let mut check = |policy: &Value, path: Path| {
        if policy != POLICY {
            errors.push(field::not_supported(&path, policy.text(), &[POLICY]));
        }
    };
    for list in LISTS {
        for (i, container) in spec[list].items().iter().enumerate() {
            let path = path.child(list).index(i).child("imagePullPolicy");
            check(&container["imagePullPolicy"], path);
        }
    }
    for (i, volume) in spec["volumes"].items().iter().enumerate() {
        if volume["image"].is_set() {
            let path = path.child("volumes").index(i).child("image");
            check(&volume["image"]["pullPolicy"], path.child("pullPolicy"));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::testing::{Scene, pod};

    #[tokio::test]
    async fn every_image_is_pulled() {
        let scene = Scene::new("", "pods");
        let mut pod = pod();
        pod["spec"]["initContainers"] = json!([{"name": "i", "imagePullPolicy": "Never"}]);
        pod["spec"]["volumes"] = json!([{"name": "v", "image": {"reference": "r"}}, {"name": "w"}]);
        let refused = scene.create(&AlwaysPullImages, &pod).await.unwrap_err();
        assert_eq!(
            refused.message,
            "[pods \"p\" is forbidden: spec.initContainers[0].imagePullPolicy: Unsupported value: \"Never\": \
             supported values: \"Always\", \
             pods \"p\" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: \"\": \
             supported values: \"Always\", \
             pods \"p\" is forbidden: spec.volumes[0].image.pullPolicy: Unsupported value: \"\": \
             supported values: \"Always\"]"
        );
        scene.mutate(&AlwaysPullImages, &mut pod).await.unwrap();
        scene.create(&AlwaysPullImages, &pod).await.unwrap();
        assert_eq!(pod["spec"]["volumes"][1], json!({"name": "w"}));
    }

    #[tokio::test]
    async fn an_update_without_new_images_is_left_alone() {
        let scene = Scene::new("", "pods");
        let old = pod();
        scene.update(&AlwaysPullImages, &old, &old).await.unwrap();
        let mut new = old.clone();
        new["spec"]["containers"][0]["image"] = json!("new");
        scene
            .update(&AlwaysPullImages, &old, &new)
            .await
            .unwrap_err();
    }
}

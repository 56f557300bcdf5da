//! Pods from templates.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubewright_machinery::validation::{NameForm, names::name_is_dns_subdomain};
use serde_json::{Value, json};

use crate::workloads::objects::{Draft, Pod, Template};

/// Returns a pod of a template: with its labels, annotations and finalizers, and a name that the server generates from that
/// of the owner.
pub(crate) fn pod_of(template: &Template, namespace: &str, owner: &OwnerReference) -> Draft<Pod> {
    let of = |field: &str| template.0["metadata"][field].clone();
    let mut metadata = json!({
        "generateName": name_prefix(&owner.name),
        "ownerReferences": [owner],
    });
    for field in ["labels", "annotations", "finalizers"] {
        let value = of(field);
        if !value.is_null() {
            metadata[field] = value;
        }
    }
    let body =
        json!({"metadata": metadata, "spec": template.0.get("spec").unwrap_or(&Value::Null)});
    let address = ObjectMeta {
        namespace: Some(namespace.to_owned()),
        ..ObjectMeta::default()
    };
    Draft::new(address, body)
}

/// Returns the beginning of the names of an owner's pods: with a dash, unless that makes it too long.
pub(crate) fn name_prefix(owner: &str) -> String {
    let prefix = format!("{owner}-");
    match name_is_dns_subdomain(&prefix, NameForm::Prefix).is_empty() {
        true => prefix,
        false => owner.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_that_of_the_owner_and_a_dash_if_there_is_room() {
        assert_eq!(name_prefix("web"), "web-");
        let long = "x".repeat(254);
        assert_eq!(name_prefix(&long), long);
    }

    #[test]
    fn a_pod_has_what_its_template_says() {
        let template = Template(json!({
            "metadata": {"labels": {"app": "web"}, "finalizers": ["example.com/f"], "name": "ignored"},
            "spec": {"containers": [{"name": "c"}]},
        }));
        let owner = OwnerReference {
            name: "web".into(),
            ..OwnerReference::default()
        };
        let pod = serde_json::to_value(pod_of(&template, "default", &owner)).unwrap();
        assert_eq!(pod["kind"], "Pod");
        assert_eq!(pod["metadata"]["generateName"], "web-");
        assert_eq!(pod["metadata"]["labels"], json!({"app": "web"}));
        assert_eq!(pod["metadata"]["finalizers"], json!(["example.com/f"]));
        assert_eq!(pod["metadata"]["name"], Value::Null);
        assert_eq!(pod["metadata"]["annotations"], Value::Null);
        assert_eq!(pod["spec"]["containers"][0]["name"], "c");
    }
}

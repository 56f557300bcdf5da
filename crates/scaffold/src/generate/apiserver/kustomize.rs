//! The files of the server in the kustomize tree.

use kubewright_operator::Model;
use serde_json::{Value, json};

use super::{
    super::{File, Settings, kustomize::kustomization, yaml},
    NAMESPACE, READER, api_services, network_policy, service,
};
use crate::Error;

/// Returns `config/apiserver`: the APIServices, and the Service that they lead to.
pub(in super::super) fn files(model: &Model, settings: &Settings) -> Result<Vec<File>, Error> {
    if !model.serves_aggregated_apis() {
        return Ok(Vec::new());
    }
    let naming = settings.kustomize_naming();
    let services = yaml::documents(&api_services(model, &naming))?;
    let service = yaml::documents([&service(&naming)])?;
    let resources = json!({"resources": ["apiservice.yaml", "service.yaml"]});
    Ok(vec![
        File::yaml("config/apiserver/apiservice.yaml", services),
        File::yaml("config/apiserver/service.yaml", service),
        kustomization("config/apiserver", resources)?,
    ])
}

/// Returns the files of the tree beside `config/apiserver`, and adds the parts of `config/default`.
pub(in super::super) fn tree(
    settings: &Settings,
    parts: &mut Vec<&'static str>,
) -> Result<Vec<File>, Error> {
    let naming = settings.kustomize_naming();
    parts.push("../apiserver");
    let policy = yaml::documents([&network_policy(&naming)])?;
    // Beside the other parts, since `config/network-policy` belongs to webhooks.
    let name = "allow-apiserver-traffic.yaml";
    parts.push(name);
    Ok(vec![File::yaml(format!("config/default/{name}"), policy)])
}

/// Returns the replacements that keep an object in `kube-system`, which kustomize would move to the namespace of the operator.
pub(in super::super) fn replacements() -> Value {
    let object = json!({"kind": "RoleBinding", "name": READER});
    json!([{
        "source": {
            "kind": "RoleBinding",
            "name": READER,
            "fieldPath": format!("metadata.annotations.[{NAMESPACE}]"),
        },
        "targets": [{"select": object, "fieldPaths": ["metadata.namespace"]}],
    }])
}

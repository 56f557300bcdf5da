//! The files of webhooks in the kustomize tree.

use kubewright_operator::Model;
use serde_json::{Value, json};

use super::{
    super::{File, Settings, crd, kustomize::kustomization, naming::Naming, yaml},
    annotations, certificate, configurations, conversion, converts, network_policy, service,
};
use crate::Error;

/// Returns `config/webhook`: the configurations of webhooks, and the Service that they are called at.
pub(in super::super) fn files(model: &Model, settings: &Settings) -> Result<Vec<File>, Error> {
    if !model.serves_webhooks() {
        return Ok(Vec::new());
    }
    let naming = settings.kustomize_naming();
    let mut files = Vec::new();
    let mut resources = Vec::new();
    let configurations = configurations(model, &naming);
    if !configurations.is_empty() {
        let manifests = yaml::documents(&configurations)?;
        files.push(File::yaml("config/webhook/manifests.yaml", manifests));
        resources.push("manifests.yaml");
    }
    let service = yaml::documents([&service(&naming)])?;
    files.push(File::yaml("config/webhook/service.yaml", service));
    resources.push("service.yaml");
    files.push(kustomization(
        "config/webhook",
        json!({"resources": resources}),
    )?);
    Ok(files)
}

/// Returns the files of the tree beside `config/webhook`, and adds the parts and patches of `config/default`.
pub(in super::super) fn tree(
    model: &Model,
    settings: &Settings,
    parts: &mut Vec<&'static str>,
    patches: &mut Vec<Value>,
) -> Result<Vec<File>, Error> {
    let naming = settings.kustomize_naming();
    let one = |file: &str| json!({"resources": [file]});
    let mut files = Vec::new();
    parts.push("../webhook");
    let issued = certificate(settings, &naming);
    if !issued.is_empty() {
        parts.push("../certmanager");
        let text = yaml::documents(&issued)?;
        files.push(File::yaml("config/certmanager/certificate.yaml", text));
        files.push(kustomization(
            "config/certmanager",
            one("certificate.yaml"),
        )?);
    }
    parts.push("../network-policy");
    let policy = yaml::documents([&network_policy(&naming)])?;
    let name = "allow-webhook-traffic.yaml";
    files.push(File::yaml(format!("config/network-policy/{name}"), policy));
    files.push(kustomization("config/network-policy", one(name))?);
    let injected = injections(model, settings, &naming);
    if !injected.is_empty() {
        let name = "webhook_ca_patch.yaml";
        patches.push(json!({"path": name}));
        let text = yaml::documents(&injected)?;
        files.push(File::yaml(format!("config/default/{name}"), text));
    }
    Ok(files)
}

/// Returns the patches that have cert-manager put its authority into webhook configurations.
fn injections(model: &Model, settings: &Settings, naming: &Naming) -> Vec<Value> {
    let Some(annotations) = annotations(settings, naming) else {
        return Vec::new();
    };
    let patch = |configuration: &Value| {
        json!({
            "apiVersion": configuration["apiVersion"],
            "kind": configuration["kind"],
            "metadata": {"name": configuration["metadata"]["name"], "annotations": annotations},
        })
    };
    configurations(model, naming).iter().map(patch).collect()
}

/// Returns `config/crd/patches`: the conversion of CRDs, whose bases are those that controller-gen writes.
pub(in super::super) fn crd_patches(
    model: &Model,
    settings: &Settings,
) -> Result<Vec<(String, File)>, Error> {
    let naming = settings.kustomize_naming();
    let mut patches = Vec::new();
    for (name, crd) in crd::crds(model) {
        if !converts(model, &crd) {
            continue;
        }
        let mut patch = json!({
            "apiVersion": crd["apiVersion"],
            "kind": crd["kind"],
            "metadata": {"name": crd["metadata"]["name"]},
            "spec": {"conversion": conversion(&naming)},
        });
        if let Some(annotations) = annotations(settings, &naming) {
            patch["metadata"]["annotations"] = annotations;
        }
        let path = format!("patches/webhook_in_{name}");
        let file = File::yaml(format!("config/crd/{path}"), yaml::documents([&patch])?);
        patches.push((path, file));
    }
    Ok(patches)
}

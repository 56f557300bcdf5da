//! Generates the `config/` tree for kustomize, and the same objects as one installer.
//!
//! Names in the tree are short: `config/default` adds the name of the project as prefix. `config/overlays` belongs to the user.

use kubewright_operator::Model;
use serde_json::{Value, json};

use super::{
    File, Settings, apiserver, crd, manager,
    model::{kinds, text},
    naming::Naming,
    rbac, webhook, yaml,
};
use crate::Error;

/// The kustomization of the samples.
pub(super) const SAMPLES: &str = "config/samples/kustomization.yaml";

/// Returns `config/crd/bases`: the CRDs.
pub(super) fn crds(model: &Model) -> Result<Vec<File>, Error> {
    crd::crds(model)
        .iter()
        .map(|(name, definition)| {
            Ok(File::yaml(
                format!("config/crd/bases/{name}"),
                yaml::documents([definition])?,
            ))
        })
        .collect()
}

/// Returns `config/rbac`: the roles.
pub(super) fn roles(model: &Model, settings: &Settings) -> Result<Vec<File>, Error> {
    let naming = settings.kustomize_naming();
    let mut resources = Vec::new();
    let mut files = Vec::new();
    for (name, objects) in role_files(model, settings, &naming, settings.metrics_port.is_some()) {
        if objects.is_empty() {
            continue;
        }
        files.push(File::yaml(
            format!("config/rbac/{name}"),
            yaml::documents(&objects)?,
        ));
        resources.push(name);
    }
    files.push(kustomization(
        "config/rbac",
        json!({"resources": resources}),
    )?);
    Ok(files)
}

/// Returns the rest of the tree.
pub(super) fn tree(model: &Model, settings: &Settings) -> Result<Vec<File>, Error> {
    let naming = settings.kustomize_naming();
    let project = &settings.name;
    let bases: Vec<String> = crd::crds(model)
        .iter()
        .map(|(name, _)| format!("bases/{name}"))
        .collect();
    let mut parts = vec!["../rbac", "../manager"];
    let mut files = Vec::new();
    if !bases.is_empty() {
        parts.insert(0, "../crd");
        let mut crds = json!({"resources": bases});
        let (paths, patches): (Vec<String>, Vec<File>) =
            webhook::crd_patches(model, settings)?.into_iter().unzip();
        if !paths.is_empty() {
            crds["patches"] = paths.iter().map(|path| json!({"path": path})).collect();
        }
        files.extend(patches);
        files.push(kustomization("config/crd", crds)?);
    }
    if model.definitions().next().is_some() {
        let samples: Vec<String> = kinds(model)
            .filter(|kind| kind.served())
            .map(|kind| settings.sample_name(&kind))
            .collect();
        files.push(kustomization(
            "config/samples",
            json!({"resources": samples}),
        )?);
    }
    let running = [
        manager::namespace(&naming),
        deployment(model, settings, &naming),
    ];
    files.push(File::yaml(
        "config/manager/manager.yaml",
        yaml::documents(&running)?,
    ));
    files.push(kustomization(
        "config/manager",
        json!({"resources": ["manager.yaml"]}),
    )?);
    if let Some(port) = settings.metrics_port {
        parts.push("metrics_service.yaml");
        files.push(File::yaml(
            "config/default/metrics_service.yaml",
            yaml::documents([&manager::metrics_service(&naming, port)])?,
        ));
    }
    let mut default = json!({
        "namePrefix": format!("{project}-"),
        "namespace": format!("{project}-system"),
    });
    if model.serves_webhooks() {
        let mut patches = Vec::new();
        files.extend(webhook::tree(model, settings, &mut parts, &mut patches)?);
        if !patches.is_empty() {
            default["patches"] = json!(patches);
        }
    }
    if model.serves_aggregated_apis() {
        files.extend(apiserver::tree(settings, &mut parts)?);
        default["replacements"] = apiserver::replacements();
    }
    default["resources"] = json!(parts);
    files.push(kustomization("config/default", default)?);
    files.push(File::seed(
        "config/overlays/default/kustomization.yaml",
        OVERLAY.to_owned(),
    ));
    Ok(files)
}

/// Returns `dist/install.yaml`: the output of `kustomize build config/default`, in an order that can be applied.
pub(super) fn installer(model: &Model, settings: &Settings) -> Result<Vec<File>, Error> {
    let objects = installed(model, settings);
    Ok(vec![File::yaml(
        "dist/install.yaml",
        yaml::documents(&objects)?,
    )])
}

/// Returns all objects of an installation.
fn installed(model: &Model, settings: &Settings) -> Vec<Value> {
    let naming = Naming::whole(&settings.name, settings.namespaced);
    let mut objects = vec![manager::namespace(&naming)];
    objects.extend(crd::crds(model).into_iter().map(|(_, mut crd)| {
        if webhook::converts(model, &crd) {
            crd["spec"]["conversion"] = webhook::conversion(&naming);
            if let Some(annotations) = webhook::annotations(settings, &naming) {
                annotate(&mut crd, annotations);
            }
        }
        crd
    }));
    let (bindings, rest): (Vec<Value>, Vec<Value>) =
        role_files(model, settings, &naming, settings.metrics_port.is_some())
            .into_iter()
            .flat_map(|(_, objects)| objects)
            .partition(|object| text(&object["kind"]).ends_with("Binding"));
    objects.extend(rest);
    objects.extend(bindings);
    objects.extend(
        settings
            .metrics_port
            .map(|port| manager::metrics_service(&naming, port)),
    );
    objects.push(deployment(model, settings, &naming));
    if model.serves_webhooks() {
        objects.extend(webhook::objects(model, settings, &naming));
    }
    if model.serves_aggregated_apis() {
        objects.extend(apiserver::objects(model, &naming));
    }
    objects
}

/// Returns the Deployment of the operator, which serves its webhooks and its aggregated APIs if it has any.
fn deployment(model: &Model, settings: &Settings, naming: &Naming) -> Value {
    let mut deployment = manager::deployment(naming, &settings.image, settings.metrics_port);
    if model.serves_webhooks() {
        webhook::serve(&mut deployment, settings, naming);
    }
    if model.serves_aggregated_apis() {
        apiserver::serve(&mut deployment, naming);
    }
    deployment
}

/// Returns the objects of `config/rbac`, by file; with `metrics` also the roles for serving and reading metrics.
pub(super) fn role_files(
    model: &Model,
    settings: &Settings,
    naming: &Naming,
    metrics: bool,
) -> Vec<(String, Vec<Value>)> {
    let manager = rbac::manager_roles(model, naming);
    let leader = rbac::leader_election_role(naming);
    let mut files = vec![
        (
            "service_account.yaml".to_owned(),
            vec![rbac::service_account(naming)],
        ),
        (
            "role_binding.yaml".to_owned(),
            rbac::bindings(&manager, naming),
        ),
        ("role.yaml".to_owned(), manager),
        (
            "leader_election_role_binding.yaml".to_owned(),
            rbac::bindings(std::slice::from_ref(&leader), naming),
        ),
        ("leader_election_role.yaml".to_owned(), vec![leader]),
    ];
    let certificates = webhook::roles(model, settings, naming);
    if !certificates.is_empty() {
        let bindings = rbac::bindings(&certificates, naming);
        files.push((
            "webhook_certificates_role_binding.yaml".to_owned(),
            bindings,
        ));
        files.push(("webhook_certificates_role.yaml".to_owned(), certificates));
    }
    let (roles, bindings) = apiserver::roles(model, naming);
    files.push(("apiserver_role_binding.yaml".to_owned(), bindings));
    files.push(("apiserver_role.yaml".to_owned(), roles));
    if metrics {
        let auth = vec![rbac::metrics_auth_role(naming)];
        files.push((
            "metrics_auth_role_binding.yaml".to_owned(),
            rbac::bindings(&auth, naming),
        ));
        files.push(("metrics_auth_role.yaml".to_owned(), auth));
        files.push((
            "metrics_reader_role.yaml".to_owned(),
            vec![rbac::metrics_reader_role(naming)],
        ));
    }
    let kinds = rbac::kind_roles(model, naming);
    files.extend(kinds.into_iter().map(|(name, role)| (name, vec![role])));
    files
}

/// Adds annotations to an object.
pub(super) fn annotate(object: &mut Value, annotations: Value) {
    let there = &mut object["metadata"]["annotations"];
    match (there.as_object_mut(), annotations) {
        (Some(there), Value::Object(annotations)) => there.extend(annotations),
        (_, annotations) => *there = annotations,
    }
}

pub(super) fn kustomization(directory: &str, fields: Value) -> Result<File, Error> {
    let mut document = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
    });
    if let (Some(document), Value::Object(fields)) = (document.as_object_mut(), fields) {
        document.extend(fields);
    }
    Ok(File::yaml(
        format!("{directory}/kustomization.yaml"),
        yaml::printed(&document)?,
    ))
}

/// The initial content of an overlay.
const OVERLAY: &str = "\
# Yours: what differs from config/default, which is generated. `kubewright generate` never changes this file.
# Another environment is another directory beside this one.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ../../default
";

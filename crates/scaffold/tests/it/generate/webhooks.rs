//! Files of an operator with webhooks: configurations, and what they need around them.

use kubewright_operator::Model;
use kubewright_scaffold::{
    Edits, WebhookCertificates,
    generate::{File, Settings, Target, render},
};
use serde_json::{Value, json};

use super::{
    files::{crew, is_built_by_kustomize, write},
    parsed, rendered, settings, with_webhooks,
};
use crate::project::Directory;

/// A webhook for pods, and the objects around it.
fn pod_hooks() -> Model {
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
    let webhook = json!({
        "name": "vpod-v1.kb.io", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "sideEffects": "None",
        "rules": [rule],
    });
    with_webhooks(json!([
        {"type": "validating", "path": "/validate--v1-pod", "webhook": webhook},
    ]))
}

/// An operator that converts the objects of its kind and has no other webhooks.
fn conversions() -> Model {
    let mut model = crew();
    model.conversions = vec!["captains.crew.example.com".to_owned()];
    model
}

/// The files of a project whose certificates come from elsewhere.
fn rendered_with(
    model: &Model,
    target: Target,
    webhook_certificates: WebhookCertificates,
) -> Vec<File> {
    let settings = Settings {
        webhook_certificates,
        ..settings()
    };
    render(model, &settings, &[target]).unwrap()
}

#[track_caller]
fn of_kind<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let found = objects.iter().find(|object| object["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}"))
}

#[test]
fn webhooks_come_with_all_they_need() {
    let objects = parsed(&rendered(&pod_hooks(), Target::Yaml));
    let find = |kind: &str| of_kind(&objects, kind);
    let configuration = find("ValidatingWebhookConfiguration");
    assert_eq!(objects.last(), Some(configuration), "webhooks come last");
    let webhook = &configuration["webhooks"][0];
    let service = &webhook["clientConfig"]["service"];
    assert_eq!(service["name"], find("Service")["metadata"]["name"]);
    assert_eq!(service["namespace"], "crew-operator-system");
    assert_eq!(service["path"], "/validate--v1-pod");
    // Pods of the operator itself must start while it is down.
    let excluded = json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["crew-operator-system"]});
    assert_eq!(
        webhook["namespaceSelector"]["matchExpressions"],
        json!([excluded])
    );

    let pod = &find("Deployment")["spec"]["template"];
    let container = &pod["spec"]["containers"][0];
    let port = &find("Service")["spec"]["ports"][0]["targetPort"];
    let ports = container["ports"].as_array().unwrap();
    assert!(ports.iter().any(|it| it["containerPort"] == *port));
    let args = container["args"].as_array().unwrap();
    assert!(args.contains(&json!("--webhook-service=crew-operator-webhook-service")));
    assert_eq!(
        find("Service")["spec"]["selector"],
        pod["metadata"]["labels"]
    );
    let policy = &find("NetworkPolicy")["spec"];
    assert_eq!(
        policy["podSelector"]["matchLabels"],
        pod["metadata"]["labels"]
    );
    assert_eq!(policy["ingress"][0]["ports"][0]["port"], *port);
    // The operator keeps its certificates, and may write them.
    let role = objects.iter().find(|object| {
        object["kind"] == "Role"
            && object["metadata"]["name"] == "crew-operator-webhook-certificates-role"
    });
    let role = role.unwrap();
    assert_eq!(role["metadata"]["namespace"], "crew-operator-system");
    assert_eq!(
        role["rules"],
        json!([
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["crew-operator-webhook-server-cert"], "verbs": ["get", "update"]},
        ])
    );
    let role = objects.iter().find(|object| {
        object["kind"] == "ClusterRole"
            && object["metadata"]["name"] == "crew-operator-webhook-certificates-role"
    });
    assert_eq!(
        role.unwrap()["rules"][0]["resourceNames"],
        json!(["crew-operator-validating-webhook-configuration"])
    );
    assert!(objects.iter().all(|object| object["kind"] != "Certificate"));
}

#[test]
fn certificates_of_cert_manager_are_mounted_and_trusted() {
    let with = WebhookCertificates::CertManager;
    let mut model = pod_hooks();
    (model.crds, model.conversions) = (conversions().crds, conversions().conversions);
    let objects = parsed(&rendered_with(&model, Target::Yaml, with));
    let find = |kind: &str| of_kind(&objects, kind);
    let pod = &find("Deployment")["spec"]["template"];
    let container = &pod["spec"]["containers"][0];
    let args = container["args"].as_array().unwrap();
    let directory = container["volumeMounts"][0]["mountPath"].as_str().unwrap();
    assert!(args.contains(&json!(format!("--webhook-cert-path={directory}"))));
    let certificate = &find("Certificate")["spec"];
    assert_eq!(
        certificate["secretName"],
        pod["spec"]["volumes"][0]["secret"]["secretName"]
    );
    assert_eq!(
        certificate["dnsNames"][0],
        "crew-operator-webhook-service.crew-operator-system.svc"
    );
    for kind in ["ValidatingWebhookConfiguration", "CustomResourceDefinition"] {
        assert_eq!(
            find(kind)["metadata"]["annotations"]["cert-manager.io/inject-ca-from"],
            "crew-operator-system/crew-operator-serving-cert"
        );
    }
    assert!(!format!("{objects:?}").contains("webhook-certificates-role"));
    let files = rendered_with(&model, Target::Kustomize, with);
    for path in [
        "config/certmanager/certificate.yaml",
        "config/default/webhook_ca_patch.yaml",
    ] {
        assert!(files.iter().any(|file| file.path == path), "{path}");
    }
}

#[test]
fn certificates_in_files_are_mounted_and_nothing_else_is_made() {
    let objects = parsed(&rendered_with(
        &pod_hooks(),
        Target::Yaml,
        WebhookCertificates::Files,
    ));
    let pod = &of_kind(&objects, "Deployment")["spec"]["template"]["spec"];
    let volume = &pod["volumes"][0]["secret"]["secretName"];
    assert_eq!(volume, "crew-operator-webhook-server-cert");
    let text = format!("{objects:?}");
    assert!(!text.contains("cert-manager"), "{text}");
    assert!(!text.contains("webhook-certificates-role"), "{text}");
}

#[test]
fn a_deployed_operator_is_called_for_conversion() {
    let objects = parsed(&rendered(&conversions(), Target::Yaml));
    let conversion = &of_kind(&objects, "CustomResourceDefinition")["spec"]["conversion"];
    let service = json!({
        "name": "crew-operator-webhook-service", "namespace": "crew-operator-system", "path": "/convert",
    });
    assert_eq!(conversion["strategy"], "Webhook");
    assert_eq!(conversion["webhook"]["clientConfig"]["service"], service);
    let served = of_kind(&objects, "Service");
    assert_eq!(served["metadata"]["name"], service["name"]);
    assert_eq!(served["metadata"]["namespace"], service["namespace"]);

    // What controller-gen writes stays as it is, and kustomize adds the rest.
    let files = rendered(&conversions(), Target::Kustomize);
    let text = |path: &str| {
        let file = files.iter().find(|file| file.path == path);
        &file.unwrap_or_else(|| panic!("no {path}")).text
    };
    let base = text("config/crd/bases/crew.example.com_captains.yaml");
    assert!(!base.contains("conversion"), "{base}");
    let patch = text("config/crd/patches/webhook_in_crew.example.com_captains.yaml");
    assert!(patch.contains("path: /convert\n"), "{patch}");
    assert!(
        !files
            .iter()
            .any(|file| file.path == "config/webhook/manifests.yaml")
    );

    let chart = rendered(&conversions(), Target::Helm);
    let crd = chart
        .iter()
        .find(|file| file.path.ends_with("crew.example.com_captains.yaml"));
    let crd = &crd.unwrap().text;
    let lines = "\nspec:\n  conversion:\n    strategy: Webhook\n    webhook:\n      clientConfig:\n        service:\n          \
                 name: '{{ include \"operator.fullname\" . }}-webhook-service'\n          namespace: '{{ .Release.Namespace }}'\n";
    assert!(crd.contains(lines), "{crd}");
}

#[test]
fn an_unknown_source_of_certificates_is_refused() {
    let directory = Directory::project();
    let file = directory.path("operator.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("webhook_certificates = \"luck\"\n{text}")).unwrap();
    let refusal = kubewright_scaffold::Project::read(file.parent().unwrap()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "\"webhook_certificates\" in operator.toml is \"luck\"; use \"operator\", \"cert-manager\" or \"files\""
    );
}

#[test]
fn without_webhooks_there_is_nothing_of_them() {
    for target in Target::ALL {
        for file in rendered(&crew(), target) {
            assert!(!file.text.contains("webhook"), "{}", file.path);
        }
    }
}

#[test]
fn the_tree_includes_webhooks() {
    let files = rendered(&pod_hooks(), Target::Kustomize);
    let has = |path: &str| files.iter().any(|file| file.path == path);
    for path in [
        "config/webhook/manifests.yaml",
        "config/webhook/service.yaml",
        "config/webhook/kustomization.yaml",
        "config/network-policy/allow-webhook-traffic.yaml",
        "config/rbac/webhook_certificates_role.yaml",
        "config/rbac/webhook_certificates_role_binding.yaml",
    ] {
        assert!(has(path), "{path}");
    }
    let default = files
        .iter()
        .find(|file| file.path == "config/default/kustomization.yaml");
    let text = &default.unwrap().text;
    assert!(text.contains("- ../webhook\n"), "{text}");
    assert!(!text.contains("patches"), "{text}");
    let chart = rendered(&pod_hooks(), Target::Helm);
    let chart = chart
        .iter()
        .find(|file| file.path == "dist/chart/templates/webhook.yaml");
    let chart = &chart.unwrap().text;
    assert!(
        chart.contains("selector:\n    {{- include \"operator.selectorLabels\" . | nindent 4 }}"),
        "{chart}"
    );
}

#[test]
fn the_installer_with_webhooks_is_what_kustomize_builds() {
    let directory = Directory::project();
    let mut model = pod_hooks();
    let converted = conversions();
    (model.crds, model.conversions) = (converted.crds, converted.conversions);
    write(&directory, &model, Edits::Keep);
    is_built_by_kustomize(&directory);

    let file = directory.path("operator.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        format!("webhook_certificates = \"cert-manager\"\n{text}"),
    )
    .unwrap();
    write(&directory, &model, Edits::Keep);
    is_built_by_kustomize(&directory);
}

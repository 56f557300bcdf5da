//! Files of an operator with webhooks: configurations, and what they need around them.

use kubewright_operator::Model;
use kubewright_scaffold::{Edits, generate::Target};
use serde_json::json;

use super::{
    files::{crew, is_built_by_kustomize, write},
    parsed, rendered, with_webhooks,
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

#[test]
fn webhooks_come_with_all_they_need() {
    let objects = parsed(&rendered(&pod_hooks(), Target::Yaml));
    let find = |kind: &str| {
        let found = objects.iter().find(|object| object["kind"] == kind);
        found.unwrap_or_else(|| panic!("no {kind}"))
    };
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
    let directory = container["volumeMounts"][0]["mountPath"].as_str().unwrap();
    assert!(args.contains(&json!(format!("--webhook-cert-path={directory}"))));
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

    let certificate = &find("Certificate")["spec"];
    assert_eq!(
        certificate["secretName"],
        pod["spec"]["volumes"][0]["secret"]["secretName"]
    );
    assert_eq!(
        certificate["dnsNames"][0],
        "crew-operator-webhook-service.crew-operator-system.svc"
    );
    assert_eq!(
        configuration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"],
        "crew-operator-system/crew-operator-serving-cert"
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
        "config/certmanager/certificate.yaml",
        "config/network-policy/allow-webhook-traffic.yaml",
        "config/default/webhook_ca_patch.yaml",
    ] {
        assert!(has(path), "{path}");
    }
    let default = files
        .iter()
        .find(|file| file.path == "config/default/kustomization.yaml");
    let text = &default.unwrap().text;
    assert!(text.contains("- ../webhook\n"), "{text}");
    assert!(text.contains("- path: webhook_ca_patch.yaml\n"), "{text}");
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
    write(&directory, &pod_hooks(), Edits::Keep);
    is_built_by_kustomize(&directory);
}

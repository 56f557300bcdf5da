//! Generates `dist/chart`, a Helm chart.
//!
//! CRDs are templates instead of files in `crds/`, so that an upgrade updates them; they are kept when the release is
//! uninstalled, unless `crd.keep` is false. `Chart.yaml` and `values.yaml` belong to the user from the first edit on.
//!
//! | file | source |
//! |---|---|
//! | `templates/rbac.yaml`, `templates/crd/` | the model, with names that Helm fills in |
//! | all others | `templates/chart` of this crate |

use kubewright_operator::Model;
use serde_json::{Value, json};

use super::{
    File, Settings, apiserver, crd, kustomize,
    manager::{HEALTH_PORT, METRICS_PORT},
    model::text,
    naming::{CHART_LABELS, Naming},
    stamp::Language,
    webhook, yaml,
};
use crate::{Error, project::WebhookCertificates, templates::Values};

const CHART: &str = include_str!("../../../templates/chart/Chart.yaml.tmpl");
const VALUES: &str = include_str!("../../../templates/chart/values.yaml.tmpl");
const NAMES: &str = include_str!("../../../templates/chart/_names.tpl.tmpl");
const MANAGER: &str = include_str!("../../../templates/chart/manager.yaml.tmpl");
const NOTES: &str = include_str!("../../../templates/chart/NOTES.txt.tmpl");
const IGNORED: &str = include_str!("../../../templates/chart/helmignore.tmpl");

/// A placeholder for the labels of the operator's pods, replaced after printing.
const SELECTOR: &str = "{{ include \"operator.selectorLabels\" . }}";
/// The parts of the Deployment that serve webhooks.
const SERVICE_ARGUMENT: &str =
    "\n            - --webhook-service={{ include \"operator.fullname\" . }}-webhook-service";
const FILES_ARGUMENT: &str =
    "\n            - --webhook-cert-path=/tmp/k8s-webhook-server/serving-certs";
const APISERVER_ARGUMENT: &str =
    "\n            - --apiserver-service={{ include \"operator.fullname\" . }}-apiserver";
const APISERVER_PORT: &str = "\n            - name: apiserver\n              containerPort: 6443\n              protocol: TCP";
const WEBHOOK_PORT: &str = "\n            - name: webhook-server\n              containerPort: 9443\n              protocol: TCP";
const WEBHOOK_MOUNT: &str = "\n          volumeMounts:\n            - name: webhook-certs\n              mountPath: /tmp/k8s-webhook-server/serving-certs\n              readOnly: true";
const WEBHOOK_VOLUME: &str = "\n      volumes:\n        - name: webhook-certs\n          secret:\n            secretName: {{ include \"operator.fullname\" . }}-webhook-server-cert";
/// The condition around the CRDs.
const KEEP: &str = "{{- if .Values.crd.keep }}\n    helm.sh/resource-policy: keep\n    {{- end }}";

/// Returns the files of the chart.
pub(super) fn files(model: &Model, settings: &Settings) -> Result<Vec<File>, Error> {
    let version = model.version.as_deref().unwrap_or("0.1.0");
    let (repository, tag) = image_parts(&settings.image);
    let namespace_argument = match settings.namespaced {
        true => "\n            - --namespace={{ .Release.Namespace }}",
        false => "",
    };
    let (webhook_argument, webhook_mount, webhook_volume) = match settings.webhook_certificates {
        WebhookCertificates::Operator => (SERVICE_ARGUMENT, "", ""),
        WebhookCertificates::CertManager | WebhookCertificates::Files => {
            (FILES_ARGUMENT, WEBHOOK_MOUNT, WEBHOOK_VOLUME)
        }
    };
    let serves = model.serves_webhooks();
    let serving = |part: &'static str| if serves { part } else { "" };
    let has_apis = model.serves_aggregated_apis();
    let aggregated = |part: &'static str| if has_apis { part } else { "" };
    let naming = Naming::chart(settings.namespaced);
    let fill = Values::default()
        .with("name", &settings.name)
        .with("version", version)
        .with("repository", repository)
        .with("tag", tag)
        .with(
            "metrics_enabled",
            settings.metrics_port.is_some().to_string(),
        )
        .with(
            "metrics_port",
            settings.metrics_port.unwrap_or(METRICS_PORT).to_string(),
        )
        .with("health_port", HEALTH_PORT.to_string())
        .with("namespace_argument", namespace_argument)
        .with("webhook_argument", serving(webhook_argument))
        .with("webhook_port", serving(WEBHOOK_PORT))
        .with("apiserver_argument", aggregated(APISERVER_ARGUMENT))
        .with("apiserver_port", aggregated(APISERVER_PORT))
        .with("webhook_mount", serving(webhook_mount))
        .with("webhook_volume", serving(webhook_volume));
    let template = |name: &str, source: &str| {
        let path = format!("dist/chart/templates/{name}");
        File::marked(path, Language::Template, &fill.fill(source))
    };
    let mut files = vec![
        File::until_edited("dist/chart/Chart.yaml", &fill.fill(CHART)),
        File::until_edited("dist/chart/values.yaml", &fill.fill(VALUES)),
        File::seed("dist/chart/.helmignore", IGNORED.to_owned()),
        template("_names.tpl", NAMES),
        template("manager.yaml", MANAGER),
        template("NOTES.txt", NOTES),
        template("rbac.yaml", &roles(model, settings)?),
    ];
    if serves {
        let objects = webhook::objects(model, settings, &naming);
        files.push(template("webhook.yaml", &called(objects)?));
    }
    if has_apis {
        let objects = apiserver::objects(model, &naming);
        files.push(template("apiserver.yaml", &called(objects)?));
    }
    for (name, crd) in crd::crds(model) {
        let text = crd_template(model, settings, &crd)?;
        files.push(template(&format!("crd/{name}"), &text));
    }
    Ok(files)
}

/// Returns the roles, each within its condition.
fn roles(model: &Model, settings: &Settings) -> Result<String, Error> {
    let naming = Naming::chart(settings.namespaced);
    let mut out = String::new();
    for (file, objects) in kustomize::role_files(model, settings, &naming, true) {
        if objects.is_empty() {
            continue;
        }
        let condition = match file.as_str() {
            "service_account.yaml" => ".Values.serviceAccount.create",
            file if file.starts_with("metrics") => {
                "and .Values.rbac.create .Values.metrics.enabled"
            }
            file if file.starts_with("leader_election") => {
                "and .Values.rbac.create .Values.leaderElection.enabled"
            }
            file if ["role", "webhook", "apiserver"]
                .iter()
                .any(|part| file.starts_with(part)) =>
            {
                ".Values.rbac.create"
            }
            _ => "and .Values.rbac.create .Values.rbac.kindRoles",
        };
        out += &format!("{{{{- if {condition} }}}}\n");
        for object in &objects {
            out += "---\n";
            out += &filled_in(object)?;
        }
        out += "{{- end }}\n";
    }
    Ok(out)
}

/// Returns the objects by which the cluster calls the operator.
fn called(objects: Vec<Value>) -> Result<String, Error> {
    let mut out = String::new();
    for mut object in objects {
        // The pods of a chart have labels of their own.
        if let Some(selector) = object.pointer_mut("/spec/selector") {
            *selector = SELECTOR.into();
        }
        if let Some(selector) = object.pointer_mut("/spec/podSelector/matchLabels") {
            *selector = SELECTOR.into();
        }
        let printed = filled_in(&object)?;
        let at = |indent: usize| {
            format!(
                "\n{}{{{{- include \"operator.selectorLabels\" . | nindent {indent} }}}}",
                " ".repeat(indent)
            )
        };
        let printed = printed
            .replace(
                &format!("selector: '{SELECTOR}'"),
                &format!("selector:{}", at(4)),
            )
            .replace(
                &format!("matchLabels: '{SELECTOR}'"),
                &format!("matchLabels:{}", at(6)),
            );
        out += "---\n";
        out += &printed;
    }
    Ok(out)
}

/// Returns an object as a template, with the labels on separate lines.
fn filled_in(object: &Value) -> Result<String, Error> {
    let printed = yaml::printed(object)?;
    let lines = "labels:\n    {{- include \"operator.labels\" . | nindent 4 }}";
    let quoted = format!("labels: '{CHART_LABELS}'");
    let mut out = printed.replace(&quoted, lines);
    if text(&object["kind"]) == "ServiceAccount" {
        let annotations = "  {{- with .Values.serviceAccount.annotations }}\n  annotations:\n    {{- toYaml . | nindent 4 }}\n  {{- end }}\n";
        out = out.replacen("metadata:\n", &format!("metadata:\n{annotations}"), 1);
    }
    Ok(out)
}

/// Returns a CRD as a template: its braces are escaped, a value decides whether it is kept, and the names of its conversion
/// are those of the release.
fn crd_template(model: &Model, settings: &Settings, definition: &Value) -> Result<String, Error> {
    let mut definition = definition.clone();
    // A placeholder for the policy that survives the printer.
    definition["metadata"]["annotations"]["helm.sh/resource-policy"] = "keep".into();
    let mut printed = yaml::printed(&definition)?.replace("{{", "{{ \"{{\" }}");
    if webhook::converts(model, &definition) {
        let naming = Naming::chart(settings.namespaced);
        // The keys of a spec are sorted, and this is the first.
        let conversion = yaml::printed(&json!({"conversion": webhook::conversion(&naming)}))?;
        let conversion = conversion.replace('\n', "\n  ");
        let conversion = format!("\nspec:\n  {}\n", conversion.trim_end());
        printed = printed.replacen("\nspec:\n", &conversion, 1);
        if let Some(annotations) = webhook::annotations(settings, &naming) {
            let text = yaml::printed(&annotations)?;
            let lines = format!("\n  annotations:\n    {}\n", text.trim_end());
            printed = printed.replacen("\n  annotations:\n", &lines, 1);
        }
    }
    let kept = printed.replacen("helm.sh/resource-policy: keep", KEEP, 1);
    // Without annotations and policy the map is null, which Kubernetes accepts.
    Ok(format!(
        "{{{{- if .Values.crd.enabled }}}}\n---\n{kept}{{{{- end }}}}\n"
    ))
}

/// Splits an image into repository and tag.
fn image_parts(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        // A port of the registry is not a tag.
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (image, "latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_not_a_tag() {
        assert_eq!(
            image_parts("localhost:5000/crew"),
            ("localhost:5000/crew", "latest")
        );
        assert_eq!(
            image_parts("localhost:5000/crew:v1"),
            ("localhost:5000/crew", "v1")
        );
        assert_eq!(image_parts("crew:0.1.0"), ("crew", "0.1.0"));
    }
}

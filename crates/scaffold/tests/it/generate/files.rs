//! The generated files: their names, their owners, and their agreement.

use std::{fs, io::Write, process::Command};

use kubewright_operator::Model;
use kubewright_scaffold::{
    Edits,
    generate::{Owner, Settings, Target, plan, render},
};
use serde_json::{Value, json};

use super::{golden_definitions, model, parsed, rendered, settings};
use crate::project::Directory;

pub(super) fn crew() -> Model {
    let captains = json!({
        "metadata": {"name": "captains.crew.example.com"},
        "spec": {
            "group": "crew.example.com",
            "names": {"kind": "Captain", "listKind": "CaptainList", "plural": "captains", "singular": "captain"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object",
                    "description": "Says {{ what }} it is.",
                    "required": ["ship"],
                    "properties": {
                        "ship": {"type": "string", "pattern": "^[A-Z]", "description": "The ship | its name."},
                        "size": {"type": "integer", "minimum": 1, "exclusiveMinimum": true, "nullable": true},
                        "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        "mates": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                    },
                }}}},
            }],
        },
    });
    let rules = json!([
        {"apiGroups": ["crew.example.com"], "resources": ["captains"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["token"], "verbs": ["get"], "namespace": "vault"},
    ]);
    model(vec![captains], rules)
}

fn nothing() -> Model {
    model(Vec::new(), json!([]))
}

pub(super) fn write(directory: &Directory, model: &Model, edits: Edits) {
    let plan = plan(&directory.open(), model, &Target::ALL, edits).unwrap();
    plan.write().unwrap();
}

fn refusal(directory: &Directory, model: &Model) -> String {
    let before = directory.everything();
    let refusal = plan(&directory.open(), model, &Target::ALL, Edits::Keep).unwrap_err();
    assert_eq!(directory.everything(), before);
    refusal.to_string()
}

#[test]
fn a_second_run_changes_nothing() {
    let directory = Directory::with_captain();
    write(&directory, &crew(), Edits::Keep);
    let plan = plan(&directory.open(), &crew(), &Target::ALL, Edits::Keep).unwrap();
    assert_eq!(plan.changes(), []);
}

#[test]
fn an_edited_file_is_refused_until_the_edit_is_discarded() {
    let directory = Directory::with_captain();
    write(&directory, &crew(), Edits::Keep);
    let path = directory.path("config/rbac/role.yaml");
    let edited = directory.read("config/rbac/role.yaml") + "# mine\n";
    fs::write(&path, edited).unwrap();
    assert_eq!(
        refusal(&directory, &nothing()),
        "config/rbac/role.yaml was generated and then edited; move the change to the types, to operator.toml or to \
         config/overlays, then discard it here with --force"
    );
    write(&directory, &crew(), Edits::Discard);
    assert!(!directory.read("config/rbac/role.yaml").contains("mine"));
    fs::write(&path, "mine: true\n").unwrap();
    assert_eq!(
        refusal(&directory, &crew()),
        "config/rbac/role.yaml is there and was not generated; move it away, or replace it with --force"
    );
}

#[test]
fn samples_and_values_are_the_users_from_the_first_edit_on() {
    let directory = Directory::with_captain();
    write(&directory, &crew(), Edits::Keep);
    let sample = "config/samples/crew_v1_captain.yaml";
    assert!(directory.read(sample).contains("ship: Example"));
    for path in [
        sample,
        "dist/chart/values.yaml",
        "config/overlays/default/kustomization.yaml",
    ] {
        fs::write(directory.path(path), directory.read(path) + "mine: 1\n").unwrap();
    }
    write(&directory, &nothing(), Edits::Discard);
    for path in [
        sample,
        "dist/chart/values.yaml",
        "config/overlays/default/kustomization.yaml",
    ] {
        assert!(directory.read(path).ends_with("mine: 1\n"), "{path}");
    }
}

#[test]
fn files_of_a_kind_that_is_gone_go_too() {
    let directory = Directory::with_captain();
    write(&directory, &crew(), Edits::Keep);
    write(&directory, &nothing(), Edits::Keep);
    for path in [
        "config/crd",
        "config/rbac/captain_admin_role.yaml",
        "config/samples",
        "config/schema",
        "dist/chart/templates/crd",
    ] {
        assert!(!directory.path(path).exists(), "{path}");
    }
    assert!(directory.path("config/rbac/service_account.yaml").exists());
}

#[test]
fn a_target_makes_its_own_files_only() {
    let directory = Directory::with_captain();
    write(&directory, &crew(), Edits::Keep);
    let changed = {
        let mut model = crew();
        model.rules.clear();
        model
    };
    let plan = plan(&directory.open(), &changed, &[Target::Rbac], Edits::Keep).unwrap();
    let paths: Vec<&str> = plan.changes().iter().map(|it| it.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "config/rbac/kustomization.yaml",
            "config/rbac/role.yaml",
            "config/rbac/role_binding.yaml"
        ]
    );
}

#[test]
fn an_operator_of_one_namespace_has_a_role_there() {
    let settings = Settings {
        namespaced: true,
        ..settings()
    };
    let objects = parsed(&render(&crew(), &settings, &[Target::Yaml]).unwrap());
    let named = |kind: &str, name: &str| {
        let found = objects
            .iter()
            .find(|it| it["kind"] == kind && it["metadata"]["name"] == name);
        found.cloned().unwrap_or_default()
    };
    let role = named("Role", "crew-operator-manager-role");
    assert_eq!(role["metadata"]["namespace"], "crew-operator-system");
    let binding = named("RoleBinding", "crew-operator-manager-rolebinding");
    assert_eq!(binding["roleRef"]["kind"], "Role");
    let manager = named("Deployment", "crew-operator-controller-manager");
    let args = &manager["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(args[2], "--namespace=$(POD_NAMESPACE)");
}

#[test]
fn schemas_for_editors_are_in_their_words() {
    let files = rendered(&crew(), Target::Schema);
    assert_eq!(
        files[0].path,
        "config/schema/crew.example.com_v1_captain.json"
    );
    let schema: Value = serde_json::from_str(&files[0].text).unwrap();
    let spec = &schema["properties"]["spec"];
    assert_eq!(schema["properties"]["kind"], json!({"const": "Captain"}));
    assert_eq!(
        schema["required"],
        json!(["apiVersion", "kind", "metadata"])
    );
    assert_eq!(spec["additionalProperties"], false);
    assert_eq!(
        spec["properties"]["size"],
        json!({"type": ["integer", "null"], "exclusiveMinimum": 1})
    );
    assert_eq!(
        spec["properties"]["port"],
        json!({"type": ["integer", "string"]})
    );
    assert_eq!(spec["properties"]["any"], json!({"type": "object"}));
}

#[test]
fn the_reference_documents_every_field() {
    let files = rendered(&crew(), Target::Docs);
    for line in [
        "| [Captain](#captain-crewexamplecomv1) | `crew.example.com/v1` | Namespaced | stored |",
        "| `ship` | string | yes | The ship \\| its name. Matches `^[A-Z]`. |",
        "| `mates` | list of object |  |  |",
        "### `spec.mates[]`",
    ] {
        assert!(files[0].text.contains(line), "{line}\n{}", files[0].text);
    }
}

#[test]
fn a_chart_has_braces_of_descriptions_as_text() {
    let files = rendered(&crew(), Target::Helm);
    let definition = files
        .iter()
        .find(|file| file.path.starts_with("dist/chart/templates/crd/"))
        .unwrap();
    assert!(
        definition
            .text
            .contains("description: Says {{ \"{{\" }} what }} it is."),
        "{}",
        definition.text
    );
    let values = files
        .iter()
        .find(|file| file.path == "dist/chart/values.yaml")
        .unwrap();
    assert_eq!(values.owner, Owner::FirstEditor);
    assert!(
        values
            .text
            .contains("repository: registry.example.com/crew\n  tag: \"0.3.0\"")
    );
}

/// Runs a tool on a project with everything in it; nothing if the tool is not there.
fn tool(name: &str, arguments: &[&str], directory: &Directory) -> Option<String> {
    let mut command = Command::new(name);
    let output = match command
        .args(arguments)
        .current_dir(directory.path(""))
        .output()
    {
        Ok(output) => output,
        Err(_) => {
            // The harness keeps back what `eprintln!` writes when a test passes, so this goes around it.
            let _ = writeln!(std::io::stderr(), "skipped: {name} is not installed");
            return None;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn whole_project() -> Directory {
    let directory = Directory::with_captain();
    let definitions = golden_definitions().into_iter().map(|(_, it)| it);
    let mut all = crew();
    all.crds.extend(definitions);
    // kustomize would move a role of another namespace into the project's.
    all.rules.retain(|rule| rule.namespace.is_none());
    write(&directory, &all, Edits::Keep);
    directory
}

fn documents(text: &str) -> Vec<Value> {
    let mut all: Vec<Value> = text
        .split("\n---\n")
        .map(|part| {
            let yaml = kubewright_schema::yaml::parse_yaml(part.as_bytes()).unwrap();
            yaml.node.into_value().unwrap()
        })
        .filter(|value| !value.is_null())
        .collect();
    all.sort_by_key(|it| (it["kind"].to_string(), it["metadata"]["name"].to_string()));
    all
}

#[test]
fn metrics_are_closed_to_the_network_unless_the_project_opens_them() {
    let directory = Directory::with_captain();
    let all_text = |directory: &Directory| {
        let everything = directory.everything();
        let of = |it: &&(std::path::PathBuf, String)| {
            let path = it.0.display().to_string();
            path.contains("/config/") || path.ends_with("dist/install.yaml")
        };
        let texts = everything.iter().filter(of).map(|(_, text)| text.as_str());
        texts.collect::<String>()
    };
    write(&directory, &crew(), Edits::Keep);
    // The program listens on the loopback address by itself.
    assert!(!all_text(&directory).contains("metrics"));
    let values = directory.read("dist/chart/values.yaml");
    assert!(
        values.contains("metrics:\n  enabled: false\n  port: 8443\n"),
        "{values}"
    );

    let file = directory.read("operator.toml");
    let opened = file.replacen("domain =", "metrics_port = 9090\ndomain =", 1);
    fs::write(directory.path("operator.toml"), opened).unwrap();
    write(&directory, &crew(), Edits::Keep);
    let manager = directory.read("config/manager/manager.yaml");
    assert!(
        manager.contains("- --metrics-bind-address=:9090\n"),
        "{manager}"
    );
    assert!(
        directory
            .path("config/default/metrics_service.yaml")
            .is_file()
    );
    for role in ["auth_role", "auth_role_binding", "reader_role"] {
        let path = format!("config/rbac/metrics_{role}.yaml");
        assert!(directory.path(&path).is_file(), "{path}");
    }
    let role = directory.read("config/rbac/metrics_auth_role.yaml");
    for reviews in ["tokenreviews", "subjectaccessreviews"] {
        assert!(role.contains(&format!("- {reviews}\n")), "{role}");
    }
    let roles = directory.read("dist/chart/templates/rbac.yaml");
    let condition = "{{- if and .Values.rbac.create .Values.metrics.enabled }}\n---\n";
    assert_eq!(roles.matches(condition).count(), 3, "{roles}");
    let values = directory.read("dist/chart/values.yaml");
    assert!(
        values.contains("metrics:\n  enabled: true\n  port: 9090\n"),
        "{values}"
    );

    fs::write(directory.path("operator.toml"), &file).unwrap();
    write(&directory, &crew(), Edits::Keep);
    assert!(!all_text(&directory).contains("metrics"));
    for wrong in ["0", "\"8080\"", "65536"] {
        let text = file.replacen("domain =", &format!("metrics_port = {wrong}\ndomain ="), 1);
        fs::write(directory.path("operator.toml"), text).unwrap();
        let error = kubewright_scaffold::Project::read(&directory.path("")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"metrics_port\" in operator.toml is not a port; write it as metrics_port = 8443"
        );
    }
}

#[test]
fn the_installer_is_what_kustomize_builds() {
    let directory = whole_project();
    if is_built_by_kustomize(&directory) {
        assert!(tool("kubectl", &["kustomize", "config/samples"], &directory).is_some());
    }
}

/// Compares the installer with the output of kustomize, if that is there.
pub(super) fn is_built_by_kustomize(directory: &Directory) -> bool {
    let overlay = ["kustomize", "config/overlays/default"];
    let Some(built) = tool("kubectl", &overlay, directory) else {
        return false;
    };
    let (built, installer) = (
        documents(&built),
        documents(&directory.read("dist/install.yaml")),
    );
    assert_eq!(built.len(), installer.len());
    for (built, ours) in built.iter().zip(&installer) {
        assert_eq!(built, ours);
    }
    true
}

#[test]
fn helm_fills_the_chart_in() {
    let directory = whole_project();
    let template = ["template", "crew", "dist/chart", "--namespace", "ships"];
    let Some(filled) = tool("helm", &template, &directory) else {
        return;
    };
    let objects = documents(&filled);
    let count = |kind: &str| objects.iter().filter(|it| it["kind"] == kind).count();
    assert_eq!(count("CustomResourceDefinition"), 10);
    assert_eq!(count("Deployment"), 1);
    let installer = documents(&directory.read("dist/install.yaml"));
    let schema = |all: &[Value]| {
        let found = all
            .iter()
            .find(|it| it["metadata"]["name"] == "captains.crew.example.com");
        found.unwrap()["spec"].clone()
    };
    assert_eq!(schema(&objects), schema(&installer));
    assert_eq!(count("Service"), 0);
    let on = [&template[..], &["--set", "metrics.enabled=true"]].concat();
    let opened = documents(&tool("helm", &on, &directory).unwrap());
    assert_eq!(
        opened.iter().filter(|it| it["kind"] == "Service").count(),
        1
    );
    let off = "crd.keep=false,rbac.create=false,leaderElection.enabled=false";
    let set = [&template[..], &["--set", off]].concat();
    let objects = documents(&tool("helm", &set, &directory).unwrap());
    assert!(
        objects
            .iter()
            .all(|it| it["kind"] != "ClusterRole" && it["kind"] != "Service")
    );
    tool("helm", &["lint", "dist/chart"], &directory);
}

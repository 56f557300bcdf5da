//! `install`, `uninstall`, `run`, `deploy` and `undeploy` on `kubewright up`, with a program in place of an operator
//! that only describes itself.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::server::{Folder, Server, kubewright};

const DEFINITION: &str = "captains.crew.example.com";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": DEFINITION},
        "spec": {
            "group": "crew.example.com", "scope": "Namespaced",
            "names": {"kind": "Captain", "plural": "captains", "singular": "captain"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"spec": {"type": "object",
                        "properties": {"ship": {"type": "string"}}}}}}}],
        },
    })
}

/// A program in place of an operator: it prints its description, or its arguments.
fn operator(folder: &Folder) -> PathBuf {
    let model =
        json!({"model": 2, "name": "crew", "crds": [definition()], "controllers": [], "rules": []});
    fs::write(folder.path().join("model.json"), model.to_string()).unwrap();
    let path = folder.path().join("operator");
    let text = "#!/bin/sh\ncase \"$1\" in describe) cat \"$(dirname \"$0\")/model.json\";; *) echo \"called with $*\"; exit 7;; esac\n";
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn output(command: &mut Command) -> Output {
    command.output().unwrap()
}

fn done(server: &Server, line: &[&str]) -> String {
    let mut command = kubewright();
    command
        .args(line)
        .arg("--kubeconfig")
        .arg(server.kubeconfig());
    let output = output(&mut command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line:?}: {said}");
    assert_eq!(
        said, "",
        "nothing but the answer where there is no terminal"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the error message without `error: `.
fn refused(command: &mut Command) -> String {
    let output = output(command);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    said.trim_end().strip_prefix("error: ").unwrap().to_owned()
}

fn actions(answer: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let objects = answer["objects"].as_array().unwrap();
    let action = |object: &Value| {
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        format!("{}/{} {}", text("kind"), text("name"), text("action"))
    };
    objects.iter().map(action).collect()
}

#[test]
fn definitions_are_installed_and_uninstalled() {
    let server = Server::start();
    let folder = Folder::new();
    let path = operator(&folder).display().to_string();
    let call = |word: &str| done(&server, &[word, "--executable", &path, "-o", "json"]);
    let one = |action: &str| vec![format!("CustomResourceDefinition/{DEFINITION} {action}")];
    assert_eq!(actions(&call("install")), one("created"));
    assert_eq!(actions(&call("install")), one("unchanged"));
    assert_eq!(actions(&call("uninstall")), one("deleted"));
    assert_eq!(actions(&call("uninstall")), one("notFound"));
    let text = done(&server, &["install", "--executable", &path]);
    let begins = format!("customresourcedefinition/{DEFINITION} created, established (");
    assert!(text.starts_with(&begins), "{text}");
}

/// A converting operator is gone, and the cluster does not know.
#[test]
fn definitions_are_deleted_without_a_converter() {
    let server = Server::start_with(&[]);
    let folder = Folder::new();
    let path = operator(&folder).display().to_string();
    let mut told = definition();
    let mut other = told["spec"]["versions"][0].clone();
    other["name"] = json!("v2");
    told["spec"]["versions"][0]["storage"] = json!(false);
    told["spec"]["versions"].as_array_mut().unwrap().push(other);
    let captain = json!({"apiVersion": "crew.example.com/v1", "kind": "Captain",
        "metadata": {"name": "hook", "namespace": "default"}, "spec": {"ship": "jolly"}});
    let file = folder.path().join("told.yaml");
    let path_of_file = file.display().to_string();
    let deploy = |text: String| {
        fs::write(&file, text).unwrap();
        let line = ["deploy", "--file", &path_of_file, "-o", "json"];
        actions(&done(&server, &line)).len()
    };
    assert_eq!(deploy(format!("{told}\n---\n{captain}\n")), 2);
    // The object stays as it was stored.
    told["spec"]["versions"][0]["storage"] = json!(true);
    told["spec"]["versions"][1]["storage"] = json!(false);
    told["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"}}});
    assert_eq!(deploy(told.to_string()), 1);
    let gone = done(&server, &["uninstall", "--executable", &path, "-o", "json"]);
    assert_eq!(
        actions(&gone),
        [format!("CustomResourceDefinition/{DEFINITION} deleted")]
    );
}

#[test]
fn a_manifest_is_deployed_in_order_and_undeployed() {
    let server = Server::start_with(&[]);
    let folder = Folder::new();
    let file = folder.path().join("install.yaml");
    let captain = "apiVersion: crew.example.com/v1\nkind: Captain\nmetadata: {name: hook, namespace: crew-system}\nspec: {ship: jolly}\n";
    let account =
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: crew, namespace: crew-system}\n";
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: crew-system}\n";
    let text = format!(
        "{captain}---\n{account}---\n{namespace}---\n{}\n",
        definition()
    );
    fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    let call = |word: &str| actions(&done(&server, &[word, "--file", &path, "-o", "json"]));
    let made = [
        "Namespace/crew-system created".to_owned(),
        format!("CustomResourceDefinition/{DEFINITION} created"),
        "ServiceAccount/crew created".to_owned(),
        "Captain/hook created".to_owned(),
    ];
    assert_eq!(call("deploy"), made);
    let kept = done(&server, &["undeploy", "--file", &path, "--keep-crds"]);
    assert!(kept.contains("captain/hook deleted"), "{kept}");
    assert!(!kept.contains("customresourcedefinition"), "{kept}");
    let last = call("undeploy");
    assert_eq!(last[0], "Captain/hook notFound");
    assert_eq!(
        last[2],
        format!("CustomResourceDefinition/{DEFINITION} deleted")
    );
}

#[test]
fn a_deployment_that_does_not_become_available_is_reported() {
    let server = Server::start();
    let folder = Folder::new();
    let file = folder.path().join("install.yaml");
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "manager", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "manager", "image": "old"}]}}}});
    fs::write(&file, deployment.to_string()).unwrap();
    let mut command = kubewright();
    command.args(["deploy", "--timeout", "100ms", "--image", "new:1", "--file"]);
    command
        .arg(&file)
        .arg("--kubeconfig")
        .arg(server.kubeconfig());
    let sentence = refused(&mut command);
    let begins =
        "deployment/manager is not ready: not observed by a controller yet after 0 s; check its";
    assert!(sentence.starts_with(begins), "{sentence}");
}

#[test]
fn an_operator_runs_in_the_place_of_the_tool() {
    let server = Server::start();
    let folder = Folder::new();
    let mut command = kubewright();
    command
        .arg("run")
        .arg("--executable")
        .arg(operator(&folder));
    command.arg("--kubeconfig").arg(server.kubeconfig());
    command.args(["--install", "--", "--leader-elect"]);
    let output = output(&mut command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("created, established"), "{said}");
    assert!(said.contains("called with --kubeconfig "), "{said}");
    assert!(said.trim_end().ends_with("--leader-elect"), "{said}");
    assert_eq!(output.status.code(), Some(7), "its exit code is the tool's");
}

#[test]
fn obstacles_are_one_sentence_and_exit_code_2() {
    let server = Server::start();
    let folder = Folder::new();
    let path = operator(&folder);
    let install = |kubeconfig: PathBuf| {
        let mut command = kubewright();
        command.arg("install").arg("--executable").arg(&path);
        command.arg("--kubeconfig").arg(kubeconfig);
        command
    };
    let nowhere = folder.path().join("nowhere");
    let sentence = refused(&mut install(nowhere.clone()));
    assert!(sentence.starts_with("no cluster found: "), "{sentence}");

    let text = fs::read_to_string(server.kubeconfig()).unwrap();
    let changed = |name: &str, from: &str, to: &str| {
        let file = folder.path().join(name);
        assert!(text.contains(from));
        fs::write(&file, text.replace(from, to)).unwrap();
        file
    };
    // Nothing listens on port 1.
    let silent = changed("silent", server.address(), "127.0.0.1:1");
    let sentence = refused(&mut install(silent));
    assert!(
        sentence.starts_with("the cluster cannot be reached: "),
        "{sentence}"
    );
    let stranger = changed("stranger", &server.kubeconfig_value("token"), "stranger");
    let sentence = refused(&mut install(stranger));
    assert!(
        sentence.contains("Unauthorized; log in again"),
        "{sentence}"
    );
    let mut elsewhere = install(server.kubeconfig());
    let sentence = refused(elsewhere.args(["--context", "elsewhere"]));
    assert!(sentence.starts_with("no cluster found: "), "{sentence}");

    let mut command = kubewright();
    command
        .args(["deploy", "--kubeconfig"])
        .arg(server.kubeconfig());
    let sentence = refused(command.current_dir(folder.path()));
    assert!(
        sentence.starts_with("there is no operator.toml here"),
        "{sentence}"
    );
    fs::write(
        folder.path().join("operator.toml"),
        "name = \"crew\"\ndomain = \"example.com\"\n",
    )
    .unwrap();
    for word in ["install", "test", "deploy"] {
        let mut command = kubewright();
        command
            .arg(word)
            .current_dir(folder.path())
            .env("CARGO", &nowhere);
        if word != "test" {
            command.arg("--kubeconfig").arg(server.kubeconfig());
        }
        let sentence = refused(&mut command);
        assert!(
            sentence.contains("; install Rust with rustup"),
            "{sentence}"
        );
    }
}

#[test]
fn a_broken_rule_is_reported_with_its_position_and_nothing_is_applied() {
    let server = Server::start();
    let folder = Folder::new();
    let path = operator(&folder);
    let mut broken = definition();
    let schema = &mut broken["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["x-kubernetes-validations"] =
        json!([{"rule": "self.vessel != ''"}]);
    let at = "src/api/crew/v1/captain.rs:21:15";
    let model = json!({
        "model": 2, "name": "crew", "crds": [broken], "controllers": [], "rules": [],
        "sources": {format!("{DEFINITION}/v1"): {"properties[spec].x-kubernetes-validations[0]": at}},
    });
    fs::write(folder.path().join("model.json"), model.to_string()).unwrap();
    let mut install = kubewright();
    install.args(["install", "--executable"]).arg(&path);
    install.arg("--kubeconfig").arg(server.kubeconfig());
    assert_eq!(
        refused(&mut install),
        format!(
            "{at}: the rule \"self.vessel != ''\" of .spec is not valid: compilation failed: ERROR: <input>:1:5: undefined \
             field 'vessel'; correct Captain v1"
        )
    );
}

#[test]
fn stored_objects_are_rewritten_so_that_an_old_version_can_be_removed() {
    let server = Server::start();
    let folder = Folder::new();
    let apply = |object: &Value| {
        let file = folder.path().join("object.json");
        fs::write(&file, object.to_string()).unwrap();
        let file = file.display().to_string();
        done(&server, &["deploy", "--file", &file, "-o", "json"])
    };
    let versions = |names: &[&str]| {
        let mut definition = definition();
        let one = definition["spec"]["versions"][0].clone();
        let version = |(n, name): (usize, &&str)| {
            let mut version = one.clone();
            version["name"] = json!(name);
            // The last one is the storage version.
            version["storage"] = json!(n + 1 == names.len());
            version
        };
        definition["spec"]["versions"] = names.iter().enumerate().map(version).collect();
        definition
    };
    let migrate = || {
        let answer = done(&server, &["migrate", DEFINITION, "-o", "json"]);
        serde_json::from_str::<Value>(&answer).unwrap()[0].clone()
    };
    apply(&versions(&["v1"]));
    apply(&json!({
        "apiVersion": "crew.example.com/v1", "kind": "Captain",
        "metadata": {"name": "ahab", "namespace": "default"}, "spec": {"ship": "pequod"},
    }));
    assert_eq!(migrate()["released"], json!([]));
    apply(&versions(&["v1", "v2"]));
    let removed = versions(&["v2"]);
    let file = folder.path().join("removed.json");
    fs::write(&file, removed.to_string()).unwrap();
    let mut too_early = kubewright();
    too_early.args(["deploy", "--file"]).arg(&file);
    too_early.arg("--kubeconfig").arg(server.kubeconfig());
    assert!(refused(&mut too_early).contains("status.storedVersions[0]"));

    let migrated = migrate();
    assert_eq!(migrated["storage"], "v2");
    assert_eq!(migrated["released"], json!(["v1"]));
    assert_eq!(migrated["objects"], 1);
    apply(&removed);
    let why = done(&server, &["why", "captain/ahab", "-o", "json"]);
    assert!(why.contains("default/ahab"), "{why}");
    assert_eq!(
        done(&server, &["migrate", DEFINITION]),
        format!("{DEFINITION}: nothing to do, stored as v2\n")
    );
}

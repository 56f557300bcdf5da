//! JSON output: with `-o json` standard output is one JSON document, or one per line for commands that keep running,
//! and nothing else. Colours are for terminals.
#![cfg(unix)]

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    generating::{MODEL, project, script},
    process::{PATIENCE, Process},
    projects::Place,
    server::{Folder, Server, kubewright},
    skipped,
};

const CRD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../scaffold/tests/crds/certificates.yaml"
);
const GO_PROJECT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../scaffold/tests/kubebuilder/guestbook"
);

/// Returns the document on standard output, whatever the exit code; standard error may have notes.
#[track_caller]
fn document(command: &mut Command) -> Value {
    let output = command.args(["-o", "json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{command:?}: {e} in {text:?}; {said}"))
}

/// Returns whether the document, or the first item of a list, has a key.
fn found(document: &Value, key: &str) -> bool {
    !document[key].is_null() || !document[0][key].is_null()
}

/// Every line is a document.
#[track_caller]
fn documents(text: &str) -> Vec<Value> {
    let read = |line: &str| {
        serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {line:?} of\n{text}"))
    };
    text.lines().map(read).collect()
}

#[test]
fn commands_on_files_answer_with_one_document() {
    let place = project(MODEL);
    for (line, key) in [
        ("new elsewhere --domain example.com", "created"),
        (
            "create api --group port --version v1 --kind Quay --dry-run",
            "diff",
        ),
        (
            "create api --group port --version v1 --kind Quay",
            "created",
        ),
        ("add api port/v1/Pier", "created"),
        ("add controller --for v1/ConfigMap --name map", "created"),
        ("add version v2 --from v1 --kind Quay", "created"),
        ("list", "resources"),
        ("status", "state"),
        ("edit --namespaced", "edited"),
        ("generate --check", "differs"),
        ("generate crd --stdout", "files"),
        ("generate --dry-run", "diff"),
        ("generate", "created"),
        ("generate --check", "current"),
        ("test", "passed"),
        ("doctor", "findings"),
        ("lint", "findings"),
        ("remove controller map", "removed"),
        ("remove version v2 --kind Quay", "removed"),
        ("remove api Quay", "removed"),
        (&format!("import crd {CRD}"), "modules"),
        (&format!("import crd {CRD} --out types"), "created"),
        (
            &format!("import kubebuilder {GO_PROJECT} --out guests"),
            "created",
        ),
    ] {
        let value = document(&mut place.command(line));
        assert!(found(&value, key), "{line}: {value}");
    }
    let empty = Place::new();
    let value = document(&mut empty.command("init --domain example.com --project-name a"));
    assert!(!value["created"].is_null(), "{value}");
}

#[test]
fn commands_on_a_cluster_answer_with_one_document() {
    let place = project(MODEL);
    let server = Server::start_with(&[]);
    let captain = "apiVersion: crew.example.com/v1\nkind: Captain\nmetadata: {name: hook}\n";
    std::fs::write(place.path().join("hook.yaml"), captain).unwrap();
    for (line, key) in [
        ("install", "objects"),
        ("deploy --file hook.yaml", "objects"),
        ("why captain/hook", "conditions"),
        ("tree captain/hook", "owns"),
        ("explain captain.spec", "fields"),
        ("doctor", "findings"),
        ("import crd --cluster captains.crew.example.com", "modules"),
        ("undeploy --file hook.yaml", "objects"),
        ("uninstall", "objects"),
    ] {
        let mut command = place.command(line);
        let value = document(command.env("KUBECONFIG", server.kubeconfig()));
        assert!(found(&value, key), "{line}: {value}");
    }
    // The output of the operator comes after the document.
    let mut command = place.command("run --install -o json");
    let output = command
        .env("KUBECONFIG", server.kubeconfig())
        .output()
        .unwrap();
    let first = serde_json::Deserializer::from_slice(&output.stdout)
        .into_iter::<Value>()
        .next();
    assert_eq!(first.unwrap().unwrap()["objects"][0]["action"], "created");
}

#[test]
fn continuous_commands_print_one_document_per_line() {
    let folder = Folder::new();
    let mut command = kubewright();
    command.current_dir(folder.path());
    command.args(["up", "--listen", "127.0.0.1:0", "-o", "json"]);
    let mut up = Process::start(command, None);
    up.output_until(PATIENCE, |text| text.contains('\n'));
    let (text, status) = up.signal("TERM");
    assert!(status.success(), "{text}");
    let told = documents(&text);
    assert_eq!(told[0]["what"], "ready");
    assert_eq!(told[0]["kubeconfig"], "kubeconfig");
    assert_eq!(told[1]["what"], "stopped");

    let mut command = kubewright();
    command
        .current_dir(folder.path())
        .args(["demo", "--once", "-o", "json"]);
    let (text, status) = Process::start(command, None).finish();
    assert!(status.success(), "{text}");
    let told = documents(&text);
    let count = |what: &str| told.iter().filter(|it| it["what"] == what).count();
    assert_eq!(count("step"), 12);
    assert!(count("reconcile") > 5 && count("found") > 5, "{text}");
    assert_eq!(count("missed"), 0);

    // An operator that describes itself, and then does nothing.
    let place = project(MODEL);
    let model = place.path().join("target/model.json");
    std::fs::write(&model, MODEL).unwrap();
    let body = format!(
        "case \"$1\" in describe) cat {};; *) exec cat;; esac",
        model.display()
    );
    script(&place, "operator", &body);
    let mut dev = Process::start(place.command("dev -o json"), None);
    dev.output_until(PATIENCE, |text| text.contains("captains.crew.example.com"));
    let (text, status) = dev.signal("INT");
    assert!(status.success(), "{text}");
    let told = documents(&text);
    assert_eq!(told[0]["what"], "cluster");
    assert_eq!(told[1]["what"], "building");
    assert_eq!(told[2]["what"], "applied", "{text}");
}

/// Returns the output of a command on a terminal, which `script` provides.
fn on_a_terminal(line: &str, directory: &Path, set: Option<(&str, &str)>) -> Option<String> {
    let words = format!("{} {line}", env!("CARGO_BIN_EXE_kubewright"));
    let mut command = Command::new("script");
    command
        .args(["-qec", &words, "/dev/null"])
        .current_dir(directory)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .env("KUBECONFIG", "/no/such/kubeconfig")
        .stdin(Stdio::null());
    if let Some((name, value)) = set {
        command.env(name, value);
    }
    let output = command.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn colours_are_for_terminals() {
    let place = Place::project();
    let piped = place.call("doctor");
    assert!(!piped.stdout.contains(&0x1b), "colours in a pipe");
    let Some(text) = on_a_terminal("doctor", place.path(), None) else {
        return skipped("colours on a terminal: there is no `script`");
    };
    if !text.contains("cargo") {
        return skipped("colours on a terminal: `script` is another one");
    }
    assert!(
        text.contains("\x1b[32mok"),
        "no colours on a terminal: {text}"
    );
    let plain = on_a_terminal("doctor", place.path(), Some(("NO_COLOR", "1"))).unwrap();
    assert!(
        !plain.contains('\x1b'),
        "colours that nobody wants: {plain}"
    );
    let json = on_a_terminal("doctor -o json", place.path(), None).unwrap();
    assert!(!json.contains('\x1b'), "colours for programs: {json}");
}

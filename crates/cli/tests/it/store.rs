//! `up --data-dir` and `kubewright store`: what is kept, shown, copied and refused.

use std::{fs, path::Path, process::Output};

use serde_json::Value;

use crate::{
    https,
    server::{Folder, Server, kubewright},
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn start(data: &Path) -> Server {
    let data = data.display().to_string();
    Server::start_with(&[
        "--controllers",
        "none",
        "--data-dir",
        &data,
        "--sync",
        "process",
    ])
}

fn create(server: &Server, name: &str) {
    let token = server.kubeconfig_value("token");
    let object = format!(
        r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "{name}"}}, "data": {{"colour": "red"}}}}"#
    );
    let (code, answer) = https::post(server, MAPS, &token, &object);
    assert_eq!(code, 201, "{answer}");
}

fn store(arguments: &[&str]) -> Output {
    let mut command = kubewright();
    command.arg("store").args(arguments);
    command.output().expect("an output")
}

fn succeeds(arguments: &[&str]) -> String {
    let output = store(arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}{errors}");
    text
}

fn json(arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = arguments.iter().copied().chain(["-o", "json"]).collect();
    serde_json::from_str(&succeeds(&arguments)).expect("JSON")
}

/// Returns the one sentence of a refusal.
fn refused(arguments: &[&str]) -> String {
    let output = store(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.starts_with("error: ") && text.lines().count() == 1,
        "{text}"
    );
    text
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_server_continues_where_it_was_stopped() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let server = start(&data);
    create(&server, "kept");
    let token = server.kubeconfig_value("token");
    let (code, before) = https::get(&server, &format!("{MAPS}/kept"), Some(&token));
    assert_eq!(code, 200, "{before}");
    let (output, status) = server.signal("TERM");
    assert_eq!(status.code(), Some(0), "{output}");
    let server = start(&data);
    // The token of the first kubeconfig is good for the second server.
    let (code, after) = https::get(&server, &format!("{MAPS}/kept"), Some(&token));
    assert_eq!((code, after), (200, before));
}

#[test]
fn a_data_directory_can_be_looked_into() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let server = start(&data);
    create(&server, "one");
    let backup = folder.path().join("backup");
    let copied = json(&["backup", &path(&data), "--to", &path(&backup)]);
    create(&server, "two");
    let status = json(&["status", &path(&data)]);
    let holder = status["inUseBy"].as_str().unwrap_or_default();
    assert!(holder.starts_with("process "), "{status}");
    assert!(status["revision"].as_u64() > copied["revision"].as_u64());
    let in_use = refused(&["verify", &path(&data)]);
    assert!(in_use.contains("is in use by process "), "{in_use}");
    assert!(
        in_use.contains(server.address().split(':').next().unwrap_or("")),
        "{in_use}"
    );
    server.signal("TERM");

    let status = json(&["status", &path(&data)]);
    assert!(status["revision"].as_u64() > copied["revision"].as_u64());
    assert!(status["inUseBy"].is_null(), "{status}");
    let verified = json(&["verify", &path(&data)]);
    assert_eq!(verified["problems"], serde_json::json!([]));
    let one = json(&["get", &path(&data), "configmaps", "default/one"]);
    assert_eq!(one["data"]["colour"], "red");
    let listed = json(&["list", &path(&data), "configmaps", "default/"]);
    let paths: Vec<_> = listed
        .as_array()
        .into_iter()
        .flatten()
        .map(|o| &o["path"])
        .collect();
    assert_eq!(paths, ["default/one", "default/two"]);
    let log = succeeds(&["log", &path(&data), "--key", "configmaps/default/two"]);
    let change: Value = serde_json::from_str(&log).expect("one line");
    assert_eq!(change["change"], "created");
    let history = succeeds(&["history", &path(&data), "configmaps", "default/two"]);
    assert!(history.contains("created"), "{history}");
    let text = succeeds(&["status", &path(&data)]);
    assert!(text.starts_with("revision    "), "{text}");
    // The backup has what was there when it was made, and nothing else.
    let listed = json(&["list", &path(&backup), "configmaps", "default/"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn a_past_state_can_be_restored() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let server = start(&data);
    create(&server, "one");
    create(&server, "two");
    server.signal("KILL");
    let listed = json(&["list", &path(&data), "configmaps", "default/one"]);
    let revision = listed[0]["revision"].to_string();
    let past = folder.path().join("past");
    let restored = json(&[
        "restore",
        &path(&data),
        "--to",
        &path(&past),
        "--at",
        &revision,
    ]);
    assert_eq!(restored["from"].to_string(), revision);
    let server = start(&past);
    let token = server.kubeconfig_value("token");
    let (code, one) = https::get(&server, &format!("{MAPS}/one"), Some(&token));
    assert_eq!(code, 200, "{one}");
    let (code, two) = https::get(&server, &format!("{MAPS}/two"), Some(&token));
    assert_eq!(code, 404, "{two}");
    // Clients of the old history must list again.
    let path = format!("{MAPS}?watch=true&resourceVersion={revision}");
    let (_, answer) = https::get(&server, &path, Some(&token));
    assert!(
        answer.contains("410") && answer.contains("Expired"),
        "{answer}"
    );
}

#[test]
fn the_state_at_a_time_can_be_restored() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let server = start(&data);
    create(&server, "one");
    create(&server, "two");
    server.signal("TERM");
    let log = succeeds(&["log", &path(&data)]);
    let changes: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("a change"))
        .collect();
    let of = |name: &str| {
        let key = format!("default/{name}");
        let found = changes.iter().find(|change| change["path"] == *key);
        found.unwrap_or_else(|| panic!("{name} is not in the log"))
    };
    let past = folder.path().join("past");
    let time = of("one")["time"].as_str().expect("a time");
    let restored = json(&["restore", &path(&data), "--to", &path(&past), "--at", time]);
    assert_eq!(restored["from"], of("one")["revision"], "{restored}");
    let listed = json(&["list", &path(&past), "configmaps", "default/"]);
    let paths: Vec<&Value> = listed.as_array().into_iter().flatten().collect();
    let names: Vec<_> = paths.iter().map(|object| &object["path"]).collect();
    assert_eq!(names, ["default/one"]);
    // Nothing is known of a time before the first change, and nothing is written.
    let none = folder.path().join("none");
    let early = [
        "restore",
        &path(&data),
        "--to",
        &path(&none),
        "--at",
        "2001-01-01T00:00:00Z",
    ];
    let error = refused(&early);
    assert!(
        error.contains("the log has no change at or before"),
        "{error}"
    );
    let error = refused(&[
        "restore",
        &path(&data),
        "--to",
        &path(&none),
        "--at",
        "yesterday",
    ]);
    assert!(
        error.contains("use a revision, or a time such as"),
        "{error}"
    );
    assert!(!none.exists());
}

#[test]
fn damage_is_refused_with_the_ways_out_and_salvaged() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let server = start(&data);
    create(&server, "one");
    create(&server, "two");
    server.signal("TERM");
    let segment = fs::read_dir(data.join("wal"))
        .expect("a log")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|end| end == "wal"))
        .expect("a segment");
    let mut bytes = fs::read(&segment).expect("a segment");
    bytes[4096 + 200] ^= 1;
    fs::write(&segment, &bytes).expect("a segment");

    let mut command = kubewright();
    command
        .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(&data);
    let output = command.output().expect("an output");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("is damaged at byte 4096"), "{error}");
    assert!(
        error.contains("kubewright store restore") && error.contains("store salvage"),
        "{error}"
    );
    assert_eq!(
        fs::read(&segment).expect("a segment"),
        bytes,
        "something was written"
    );
    let verified = store(&["verify", &path(&data)]);
    assert_eq!(verified.status.code(), Some(1));

    let saved = folder.path().join("saved");
    let salvaged = json(&["salvage", &path(&data), "--to", &path(&saved)]);
    assert_eq!(
        salvaged["lost"].as_array().map(Vec::len),
        Some(1),
        "{salvaged}"
    );
    let two = json(&["get", &path(&saved), "configmaps", "default/two"]);
    assert_eq!(two["data"]["colour"], "red");
}

#[test]
fn objects_can_be_exported_and_imported() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let server = start(&data);
    create(&server, "one");
    server.signal("TERM");
    let file = path(&folder.path().join("objects.jsonl"));
    succeeds(&["export", &path(&data), "--to", &file]);
    let copy = folder.path().join("copy");
    let imported = json(&["import", &file, "--to", &path(&copy)]);
    let exported = json(&["status", &path(&data)]);
    assert_eq!(imported["objects"], exported["objects"]);
    let before = json(&["get", &path(&data), "configmaps", "default/one"]);
    assert_eq!(
        json(&["get", &path(&copy), "configmaps", "default/one"]),
        before
    );
    let compacted = json(&["compact", &path(&copy)]);
    assert_eq!(compacted["revision"], imported["revision"]);
    start(&copy);
    let again = refused(&["import", &file, "--to", &path(&data)]);
    assert!(again.contains("is not empty"), "{again}");
}

#[test]
fn directories_of_others_are_refused_and_left_alone() {
    let folder = Folder::new();
    let other = folder.path().join("other");
    fs::create_dir_all(other.join("member")).expect("a folder");
    let mut command = kubewright();
    command
        .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(&other);
    let output = command.output().expect("an output");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("is not a data directory of kubewright: it contains member"),
        "{error}"
    );
    assert_eq!(fs::read_dir(&other).expect("a folder").count(), 1);
    let error = refused(&["status", &path(&other)]);
    assert!(error.contains("not a data directory"), "{error}");
    let error = refused(&[
        "get",
        &path(&folder.path().join("none")),
        "pods",
        "default/x",
    ]);
    assert!(error.contains("none"), "{error}");
}

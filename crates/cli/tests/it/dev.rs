//! `kubewright dev`, with programs in place of cargo and of the operator, so that nothing is compiled.
#![cfg(unix)]

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    generating::{MODEL, project, script},
    process::{PATIENCE, Process},
    projects::Place,
    skipped,
};

/// A project whose operator describes itself as in the file, and otherwise runs these commands.
pub(crate) fn developed(model: &Value, body: &str) -> Place {
    let place = project(MODEL);
    describe(&place, model);
    let file = place.path().join("target/described.json");
    let body = format!(
        "case \"$1\" in describe) cat {};; *) {body};; esac",
        file.display()
    );
    script(&place, "operator", &body);
    place
}

pub(crate) fn describe(place: &Place, model: &Value) {
    fs::write(
        place.path().join("target/described.json"),
        model.to_string(),
    )
    .unwrap();
}

/// Waits for text in the output.
#[track_caller]
pub(crate) fn shows(dev: &mut Process, wanted: &str) -> String {
    let text = dev.output_until(PATIENCE, |text| text.contains(wanted));
    assert!(text.contains(wanted), "no {wanted:?} in:\n{text}");
    text
}

pub(crate) fn model() -> Value {
    serde_json::from_str(MODEL).unwrap()
}

#[test]
fn the_cause_of_an_end_is_shown_and_not_what_was_written_last() {
    let body = "echo \"thread 'main' (7) panicked at src/lib.rs:3:5:\" >&2; echo 'no room' >&2; \
                echo 'note: run with RUST_BACKTRACE=1' >&2; exit 101";
    let place = developed(&model(), body);
    let mut dev = Process::start(place.command("dev"), None);
    shows(
        &mut dev,
        "ended     the operator ended: exit code 101: panicked at src/lib.rs:3:5: no room\n",
    );
    let (text, status) = dev.signal("INT");
    assert!(status.success(), "{text}");
}

#[test]
fn samples_are_applied_again_when_the_schema_changes() {
    let mut described = model();
    let place = developed(&described, "exit 0");
    let sample = "apiVersion: crew.example.com/v1\nkind: Captain\nmetadata:\n  name: ahab\nspec:\n  masts: 3\n";
    fs::write(place.path().join("config/samples/ahab.yaml"), sample).unwrap();
    let mut dev = Process::start(place.command("dev"), None);
    // A sample that the schema does not allow is named with its file.
    shows(
        &mut dev,
        "refused   config/samples/ahab.yaml: cannot apply captain/ahab: ",
    );
    let schema = "/crds/0/spec/versions/0/schema/openAPIV3Schema/properties";
    *described.pointer_mut(schema).unwrap() =
        json!({"spec": {"type": "object", "properties": {"masts": {"type": "integer"}}}});
    describe(&place, &described);
    let library = place.path().join("src/lib.rs");
    let text = fs::read_to_string(&library).unwrap();
    fs::write(&library, text + "// changed\n").unwrap();
    let text = shows(&mut dev, "applied   captain/ahab created");
    assert!(
        text.contains("applied   customresourcedefinition/captains.crew.example.com configured"),
        "{text}"
    );

    let (text, status) = dev.signal("INT");
    assert!(status.success(), "{text}");
}

#[test]
fn an_invalid_definition_is_reported_with_its_position() {
    let mut described = model();
    let schema = "/crds/0/spec/versions/0/schema/openAPIV3Schema";
    described.pointer_mut(schema).unwrap()["x-kubernetes-validations"] =
        json!([{"rule": "self.spec.ship =="}]);
    described["sources"] = json!({"captains.crew.example.com/v1": {"x-kubernetes-validations[0]": "src/captain.rs:9:8"}});
    let place = developed(&described, "exec cat");
    let mut dev = Process::start(place.command("dev"), None);
    let text = shows(
        &mut dev,
        "refused   src/captain.rs:9:8: the rule \"self.spec.ship ==\"",
    );
    assert!(!text.contains("applied"), "{text}");
    dev.signal("INT");
}

/// Runs `dev` on a terminal, which `script` provides; presses Ctrl-C as soon as there is something to see.
fn interrupted_on_a_terminal(place: &Place) -> Option<String> {
    let words = format!("{} dev", env!("CARGO_BIN_EXE_kubewright"));
    let tool = place.command("dev");
    let mut command = Command::new("script");
    for (name, value) in tool.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command
        .args(["-qfec", &words, "/dev/null"])
        .current_dir(place.path())
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let (mut keys, mut screen) = (child.stdin.take()?, child.stdout.take()?);
    let (mut seen, mut chunk) = (Vec::new(), [0; 4096]);
    let mut pressed = false;
    while let Ok(read @ 1..) = screen.read(&mut chunk) {
        seen.extend(&chunk[..read]);
        let drawn = String::from_utf8_lossy(&seen).contains("building");
        if drawn && !pressed {
            keys.write_all(b"\x03").ok()?;
            pressed = true;
        }
    }
    child.wait().ok()?;
    Some(String::from_utf8_lossy(&seen).into_owned())
}

#[test]
fn the_terminal_is_restored_after_ctrl_c() {
    let place = project(MODEL);
    // A build that lasts until it is interrupted.
    let cargo = place.path().join("target/slow-cargo");
    slow_cargo(&cargo);
    let place = place.with_cargo(cargo.display().to_string());
    let Some(text) = interrupted_on_a_terminal(&place) else {
        return skipped("dev on a terminal: there is no `script`");
    };
    let (before, after) = text
        .split_once("\x1b[?1049h")
        .unwrap_or_else(|| panic!("no view in {text:?}"));
    assert!(!before.contains('\x1b'), "{before:?}");
    let (_, left) = after
        .rsplit_once("\x1b[?7h\x1b[?25h\x1b[?1049l")
        .unwrap_or_else(|| panic!("the terminal was not restored: {text:?}"));
    let left = left.replace("^C", "");
    assert!(
        left.trim().starts_with("kubewright dev: stopped after "),
        "{left:?}"
    );
    assert!(left.contains("the local cluster is gone"), "{left:?}");
}

fn slow_cargo(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(
        path,
        "#!/bin/sh\ncase \"$1\" in build) exec sleep 600;; esac\n",
    )
    .unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

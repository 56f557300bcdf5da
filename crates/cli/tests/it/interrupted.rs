//! A command that is killed at any moment leaves all of its changes, or none.
#![cfg(unix)]

use std::{fs, path::Path, process::Stdio, time::Duration};

use crate::projects::{Place, files};

type Files = Vec<(std::path::PathBuf, Vec<u8>)>;

/// Makes a directory hold these files only.
fn restore(directory: &Path, wanted: &Files) {
    fs::remove_dir_all(directory).unwrap();
    fs::create_dir_all(directory).unwrap();
    for (path, _) in wanted.iter().filter(|(path, _)| is_directory(path, wanted)) {
        fs::create_dir_all(path).unwrap();
    }
    for (path, text) in wanted
        .iter()
        .filter(|(path, _)| !is_directory(path, wanted))
    {
        fs::write(path, text).unwrap();
    }
}

fn is_directory(path: &Path, all: &Files) -> bool {
    all.iter().any(|(other, _)| other.parent() == Some(path))
}

/// Kills a command repeatedly, each time a little later, and runs another command after it.
fn killed(place: &Place, line: &str) {
    let before = files(place.path());
    place.done(line);
    let after = files(place.path());
    assert_ne!(before, after);
    let mut left = [0, 0];
    for attempt in 0..80 {
        restore(place.path(), &before);
        let mut command = place.command(line);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Whatever the moment is, there are only two outcomes.
        std::thread::sleep(Duration::from_micros(100 * attempt));
        child.kill().unwrap();
        child.wait().unwrap();
        place.done("list");
        let now = files(place.path());
        match (now == before, now == after) {
            (true, _) => left[0] += 1,
            (_, true) => left[1] += 1,
            _ => {
                let paths: Vec<_> = now.iter().map(|(path, _)| path).collect();
                panic!("attempt {attempt} of {line} left neither all nor nothing: {paths:?}");
            }
        }
    }
    println!("{line}: {} times nothing, {} times all", left[0], left[1]);
    restore(place.path(), &after);
}

#[test]
fn a_command_that_is_killed_leaves_all_or_nothing() {
    let place = Place::project();
    killed(&place, "create api --group port --version v1 --kind Quay");
    killed(&place, "add version v2 --from v1 --kind Quay");
    killed(&place, "remove api Quay");
}

#[test]
fn prepared_changes_are_rolled_back() {
    let place = Place::project();
    let before = files(place.path());
    fs::create_dir_all(place.path().join("src/api/port/v1")).unwrap();
    for new in [
        "src/api/port/v1/quay.rs.kubewright-new",
        "src/lib.rs.kubewright-new",
    ] {
        fs::write(place.path().join(new), "half").unwrap();
    }
    let journal = r#"{"unfinished": true, "removals": ["src/main.rs"], "renames": [
        ["src/api/port/v1/quay.rs.kubewright-new", "src/api/port/v1/quay.rs"],
        ["src/lib.rs.kubewright-new", "src/lib.rs"],
        ["tests/quay.rs.kubewright-new", "tests/quay.rs"]]}"#;
    fs::write(place.path().join(".kubewright-journal.json"), journal).unwrap();
    fs::write(place.path().join(".kubewright-journal.tmp"), "{").unwrap();
    place.done("list");
    assert_eq!(files(place.path()), before);
}

#[test]
fn a_project_whose_making_was_interrupted_can_be_made() {
    let place = Place::new();
    let root = place.path().join("crew");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/lib.rs.kubewright-new"), "half").unwrap();
    let journal = r#"{"unfinished": true, "removals": [], "renames": [["src/lib.rs.kubewright-new", "src/lib.rs"]]}"#;
    fs::write(root.join(".kubewright-journal.json"), journal).unwrap();
    place.done("new crew --domain example.com");
    assert!(root.join("operator.toml").is_file());
    assert!(!root.join("src/lib.rs.kubewright-new").exists());
}

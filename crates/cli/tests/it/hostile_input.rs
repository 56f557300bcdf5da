//! Input that tries to write elsewhere, names that Rust reserves, and outputs that cannot be written to.
#![cfg(unix)]

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{PermissionsExt, symlink},
};

use crate::{
    process::{PATIENCE, Process},
    projects::Place,
    server::{Folder, kubewright},
};

/// A CustomResourceDefinition with this plural and kind.
fn crd(plural: &str, kind: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: example.com\n  \
         names: {{kind: {kind}, plural: {plural:?}}}\n  versions:\n  - name: v1\n    schema:\n      \
         openAPIV3Schema: {{type: object}}\n"
    )
}

#[test]
fn an_imported_definition_cannot_choose_where_it_is_written() {
    let place = Place::new();
    fs::create_dir_all(place.path().join("src/bin")).unwrap();
    let outside = std::env::temp_dir().join(format!("kubewright-outside-{}", std::process::id()));
    let outside = outside.display().to_string();
    for plural in ["../src/bin/x", "a/../../src/bin/x", outside.as_str()] {
        fs::write(place.path().join("crd.yaml"), crd(plural, "Ship")).unwrap();
        let said = place.refused("import crd crd.yaml --out api --force");
        assert!(said.contains("cannot be the name of a kind"), "{said}");
    }
    assert!(!fs::exists(format!("{outside}_v1.rs")).unwrap());
    fs::write(place.path().join("crd.yaml"), crd("ships", "Self")).unwrap();
    let said = place.refused("import crd crd.yaml --out api");
    assert!(said.contains("\"Self\" cannot be the name"), "{said}");
}

#[test]
fn a_link_in_a_project_cannot_redirect_what_is_written() {
    let place = Place::project();
    let elsewhere = Folder::new();
    fs::remove_dir_all(place.path().join("config")).unwrap();
    symlink(elsewhere.path(), place.path().join("config")).unwrap();
    let said = place.refused("create api --group crew --version v1 --kind Mate");
    assert!(said.contains("leads out of"), "{said}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn names_that_rust_reserves_are_rejected() {
    let place = Place::new();
    let said = place.refused("new fn");
    assert!(said.contains("\"fn\" is a Rust keyword"), "{said}");
    let said = place.refused("new a/../../b");
    assert_eq!(
        said,
        "a/../../b goes down and up again; write the path without the detour"
    );
    place.done("new crew");
    let place = place.within("crew");
    let said = place.refused("create api --group crew --version v1 --kind Self");
    assert!(said.contains("\"Self\" is a Rust keyword"), "{said}");
}

#[test]
fn a_full_output_is_one_sentence() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let place = Place::project();
    for line in ["completion bash", "list", "status -o json", "list -o json"] {
        let output = place.command(line).stdout(full()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(
            said.starts_with("error: cannot write to standard output: "),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let mut silent = place.command("list");
    let status = silent.stdout(full()).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
    let status = place.command("--help").stdout(full()).status().unwrap();
    assert_ne!(status.code(), Some(101), "a panic");
}

#[test]
fn a_closed_pipe_ends_the_program_in_silence() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = kubewright();
    let output = command
        .args(["completion", "bash"])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_server_that_others_can_reach_warns() {
    let folder = Folder::new();
    let mut command = kubewright();
    command
        .current_dir(folder.path())
        .args(["up", "--listen", "0.0.0.0:0"]);
    let mut process = Process::start(command, None);
    let output = process.output_until(PATIENCE, |text| text.contains("is ready"));
    assert!(output.starts_with("warning: 0.0.0.0:"), "{output}");
    assert!(output.contains("reachable from other machines"), "{output}");
}

#[test]
fn an_old_kubeconfig_is_replaced_and_not_written_through() {
    let folder = Folder::new();
    let (kubeconfig, target) = (
        folder.path().join("kubeconfig"),
        folder.path().join("other"),
    );
    fs::write(&target, "precious").unwrap();
    symlink(&target, &kubeconfig).unwrap();
    for _ in 0..2 {
        let mut command = kubewright();
        command
            .current_dir(folder.path())
            .args(["up", "--listen", "127.0.0.1:0"]);
        let mut process = Process::start(command, None);
        let output = process.output_until(PATIENCE, |text| text.contains("is ready"));
        assert!(output.contains("is ready"), "{output}");
        process.kill();
        let metadata = fs::symlink_metadata(&kubeconfig).unwrap();
        assert!(metadata.is_file());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        // The second time an ordinary file that others may read is in its way.
        fs::set_permissions(&kubeconfig, fs::Permissions::from_mode(0o644)).unwrap();
    }
}

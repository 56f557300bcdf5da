//! Projects, built by cargo. Only with `KUBEWRIGHT_TEST_SCAFFOLD` set, as that takes minutes.
//!
//! They are built in the target directory of this workspace, with its versions of everything, so that what is built already is
//! not built again.

use std::{fs, path::Path, process::Command};

use crate::projects::{Place, target};

/// Whether projects are built.
fn wanted() -> bool {
    let wanted = std::env::var_os("KUBEWRIGHT_TEST_SCAFFOLD").is_some();
    if !wanted {
        crate::skipped("projects built by cargo: KUBEWRIGHT_TEST_SCAFFOLD is not set");
    }
    wanted
}

/// Has the project use the versions of this workspace.
fn lock(place: &Place) {
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    fs::copy(lock, place.path().join("Cargo.lock")).unwrap();
}

/// Runs cargo in the project, which must succeed without a warning.
#[track_caller]
fn cargo(place: &Place, line: &str) {
    let output = Command::new(env!("CARGO"))
        .args(line.split_whitespace())
        .current_dir(place.path())
        .env("CARGO_TARGET_DIR", target())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let tests = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "cargo {line}: {said}{tests}");
    assert!(!said.contains("warning:"), "cargo {line}: {said}");
}

#[test]
fn a_new_project_builds_without_warnings_and_its_tests_pass() {
    if !wanted() {
        return;
    }
    let place = Place::project();
    lock(&place);
    place.done("create api --group crew --version v1 --kind Port --namespaced=false");
    place.done("add controller --for apps/v1/Deployment --owns v1/ConfigMap,crew/v1/Captain --name roll-out");
    place.done("add version v2 --from v1 --kind Captain");
    cargo(&place, "fmt --check");
    cargo(&place, "clippy --all-targets -- -D warnings");
    cargo(&place, "test");

    place.done("generate");
    assert_eq!(place.done("generate --check"), "everything is up to date\n");
    let read = |path: &str| fs::read_to_string(place.path().join(path)).unwrap();
    let captains = read("config/crd/bases/crew.example.com_captains.yaml");
    assert_eq!(captains.matches("storage: true").count(), 1, "{captains}");
    assert!(captains.contains("name: v2"), "{captains}");
    let role = read("config/rbac/role.yaml");
    assert!(role.contains("  - configmaps\n"), "{role}");

    place.done("remove controller roll_out");
    place.done("remove version v2");
    place.done("remove api Port");
    cargo(&place, "fmt --check");
    cargo(&place, "clippy --all-targets -- -D warnings");
    place.done("generate");
    assert!(!read("config/rbac/role.yaml").contains("configmaps"));
    assert!(
        !place
            .path()
            .join("config/crd/bases/crew.example.com_ports.yaml")
            .exists()
    );
}

#[test]
fn a_project_of_kubebuilder_has_the_same_definitions_and_roles_in_rust() {
    if !wanted() {
        return;
    }
    let from =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../scaffold/tests/kubebuilder/guestbook");
    let place = Place::new();
    place.done(&format!(
        "import kubebuilder {} --out guestbook",
        from.display()
    ));
    let place = place.within("guestbook");
    lock(&place);
    cargo(&place, "fmt --check");
    place.done("generate crd rbac");
    for path in [
        "config/crd/bases/webapp.example.com_guestbooks.yaml",
        "config/crd/bases/webapp.example.com_shelves.yaml",
        "config/rbac/role.yaml",
    ] {
        let ours = fs::read_to_string(place.path().join(path)).unwrap();
        let (_, ours) = ours.split_once('\n').unwrap();
        let theirs = fs::read_to_string(from.join(path)).unwrap();
        let theirs = theirs.replace(
            "  annotations:\n    controller-gen.kubebuilder.io/version: v0.21.0\n",
            "",
        );
        assert_eq!(ours, theirs, "{path}");
    }
}

//! Versions of a kind: added, made the storage version, removed.

use std::fs;

use kubewright_scaffold::{Edits, MoveStorage, PartState, PartStatus, Remove, status};

use crate::project::{Directory, api, refused, v2};

#[test]
fn the_storage_version_moves_with_its_controllers_and_the_old_one_can_go() {
    let directory = Directory::with_captain();
    let before = directory.everything();
    directory.write(v2().plan(&directory.open()));
    let added = directory.everything();
    let remove = |version: &str| Remove::Version {
        group: String::new(),
        version: version.into(),
        kind: "Captain".into(),
    };
    assert_eq!(
        refused(&directory, |project| remove("v1")
            .plan(project, Edits::Keep)),
        "v1 is the storage version of Captain; move it first with `kubewright edit --storage-version`"
    );
    let to = |version: &str| MoveStorage {
        group: String::new(),
        kind: "Captain".into(),
        version: version.into(),
    };
    directory.write(to("v2").plan(&directory.open()));
    let stored = |version: &str| {
        let types = directory.read(&format!("src/api/crew/{version}/captain.rs"));
        !types.contains("storage = false")
    };
    assert!(stored("v2") && !stored("v1"));
    let controller = directory.read("src/controller/captain.rs");
    assert!(
        controller.contains("use crate::api::crew::v2::Captain;"),
        "{controller}"
    );
    let test = directory.read("tests/captain.rs");
    assert!(
        test.contains("api::crew::v2::{Captain, CaptainSpec};"),
        "{test}"
    );
    let project = directory.open();
    let controllers = |version: &str| {
        project
            .one("", version, "Captain")
            .unwrap()
            .controllers
            .clone()
    };
    assert_eq!(controllers("v2"), ["captain"]);
    assert_eq!(controllers("v1"), Vec::<String>::new());
    let states = status(&project).unwrap();
    assert!(
        states.iter().all(|part| part.state == PartState::New),
        "{states:?}"
    );

    // There and back is where it began.
    directory.write(to("v1").plan(&directory.open()));
    assert_eq!(directory.everything(), added);
    directory.write(remove("v2").plan(&directory.open(), Edits::Keep));
    assert_eq!(directory.everything(), before);

    let mut stored_at_once = v2();
    stored_at_once.storage = true;
    directory.write(stored_at_once.plan(&directory.open()));
    directory.write(remove("v1").plan(&directory.open(), Edits::Keep));
    assert!(!directory.path("src/api/crew/v1").exists());
    assert!(!directory.path("tests/captain_v1_v2.rs").exists());
    let project = directory.open();
    assert_eq!(project.resources.len(), 1);
    assert_eq!(project.resources[0].controllers, ["captain"]);
    let library = directory.read("src/lib.rs");
    assert!(!library.contains("v1"), "{library}");
}

#[test]
fn imports_that_mix_kinds_are_left_to_the_user() {
    let directory = Directory::with_captain();
    directory.write(api("crew/v1/Mate").plan(&directory.open()));
    let path = directory.path("src/controller/captain.rs");
    let mixed = directory.read("src/controller/captain.rs").replace(
        "use crate::api::crew::v1::Captain;",
        "use crate::api::crew::v1::{Captain, Mate};",
    );
    fs::write(&path, &mixed).unwrap();
    let mut stored = v2();
    stored.storage = true;
    let plan = stored.plan(&directory.open()).unwrap();
    assert_eq!(plan.pastes().len(), 1);
    assert_eq!(
        plan.pastes()[0].lines,
        ["use crate::api::crew::v2::Captain;"]
    );
    plan.write().unwrap();
    assert_eq!(directory.read("src/controller/captain.rs"), mixed);
}

#[test]
fn a_version_between_two_others_stays() {
    let directory = Directory::with_captain();
    directory.write(v2().plan(&directory.open()));
    let mut v3 = v2();
    (v3.version, v3.from) = ("v3".into(), "v2".into());
    directory.write(v3.plan(&directory.open()));
    let remove = Remove::Version {
        group: String::new(),
        version: "v2".into(),
        kind: "Captain".into(),
    };
    assert_eq!(
        refused(&directory, |project| remove.plan(project, Edits::Keep)),
        "v1 and v3 are converted by way of v2; remove one of them first, or convert them directly"
    );
}

#[test]
fn a_version_is_a_copy_that_is_not_stored() {
    let directory = Directory::with_captain();
    let before = directory.everything();
    directory.write(v2().plan(&directory.open()));
    let types = directory.read("src/api/crew/v2/captain.rs");
    assert!(types.contains("    version = \"v2\",\n    storage = false,\n"));
    let conversion = directory.read("src/api/crew/v2/captain_from_v1.rs");
    assert!(conversion.contains("impl TryFrom<v2::Captain> for v1::Captain {"));
    assert!(
        directory
            .read("src/api/crew/v2/mod.rs")
            .contains("pub mod captain_from_v1;")
    );
    assert!(
        directory
            .read("src/lib.rs")
            .contains("operator.api::<api::crew::v2::Captain>();")
    );
    let line = "api::crew::v2::captain_from_v1::register(operator);";
    assert!(directory.read("src/lib.rs").contains(line));
    let states = status(&directory.open()).unwrap();
    let new = |part: &&PartStatus| part.state == PartState::New;
    assert_eq!(
        states.iter().filter(new).count(),
        states.len(),
        "{states:?}"
    );
    let converts = "src/api/crew/v2/captain_from_v1.rs";
    assert!(
        states.iter().any(|part| part.path == converts),
        "{states:?}"
    );
    let remove = Remove::Version {
        group: String::new(),
        version: "v2".into(),
        kind: "Captain".into(),
    };
    let test = directory.read("tests/captain_v1_v2.rs");
    fs::write(directory.path("tests/captain_v1_v2.rs"), "mine").unwrap();
    assert_eq!(
        refused(&directory, |project| remove.plan(project, Edits::Keep)),
        "tests/captain_v1_v2.rs has work in it; save what you need, then remove it with --force"
    );
    fs::write(directory.path("tests/captain_v1_v2.rs"), test).unwrap();
    directory.write(remove.plan(&directory.open(), Edits::Keep));
    assert!(!directory.path("src/api/crew/v2").exists());
    assert!(!directory.path("tests/captain_v1_v2.rs").exists());
    assert_eq!(directory.everything(), before);
}

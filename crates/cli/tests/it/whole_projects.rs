//! Projects built by cargo. This takes minutes, so it is enabled by `KUBEWRIGHT_TEST_SCAFFOLD`.
//!
//! They are built in the target directory of this workspace with its versions of all dependencies, so that artifacts
//! are reused.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::projects::{Place, target};

/// One project after the other: they share the target directory, and one compiler keeps the machine busy.
static ONE: Mutex<()> = Mutex::new(());

/// Returns a guard if projects are built, one at a time.
pub(crate) fn alone() -> Option<MutexGuard<'static, ()>> {
    if std::env::var_os("KUBEWRIGHT_TEST_SCAFFOLD").is_none() {
        crate::skipped("projects built by cargo: KUBEWRIGHT_TEST_SCAFFOLD is not set");
        return None;
    }
    Some(ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Makes the project use the versions of this workspace.
pub(crate) fn lock(place: &Place) {
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    fs::copy(lock, place.path().join("Cargo.lock")).unwrap();
}

/// Runs cargo in the project, which must succeed without a warning.
#[track_caller]
fn cargo(place: &Place, line: &str) {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(line.split_whitespace())
        .current_dir(place.path())
        .env("CARGO_TARGET_DIR", target());
    // Variables of this test's package would make build scripts run again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let of_package = [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_BIN_",
            "CARGO_CRATE_",
        ];
        if of_package.iter().any(|begins| text.starts_with(begins)) {
            command.env_remove(&name);
        }
    }
    // clippy compiles the dependencies too, so they are not checked twice.
    let clippy = Path::new(env!("CARGO")).with_file_name("clippy-driver");
    if clippy.is_file() {
        command.env("RUSTC_WORKSPACE_WRAPPER", clippy);
    } else {
        crate::skipped("clippy on projects: it is not installed beside cargo");
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let tests = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "cargo {line}: {said}{tests}");
    assert!(!said.contains("warning:"), "cargo {line}: {said}");
}

#[test]
fn a_new_project_builds_without_warnings_and_its_tests_pass() {
    let Some(_alone) = alone() else { return };
    let place = Place::project();
    lock(&place);
    place.done("create api --group crew --version v1 --kind Port --namespaced=false");
    place.done(
        "add controller --for apps/v1/Deployment --owns v1/ConfigMap,crew/v1/Captain --name roll-out",
    );
    place.done("add version v2 --from v1 --kind Captain");
    place.done("create webhook --group crew --version v1 --kind Captain --defaulting --programmatic-validation");
    place.done("create webhook --version v1 --kind Pod --programmatic-validation");
    cargo(&place, "fmt --check");
    cargo(&place, "test --lib --bins --tests");

    place.done("generate");
    assert_eq!(place.done("generate --check"), "everything is up to date\n");
    let read = |path: &str| fs::read_to_string(place.path().join(path)).unwrap();
    let captains = read("config/crd/bases/crew.example.com_captains.yaml");
    assert_eq!(captains.matches("storage: true").count(), 1, "{captains}");
    assert!(captains.contains("name: v2"), "{captains}");
    let role = read("config/rbac/role.yaml");
    assert!(role.contains("  - configmaps\n"), "{role}");
    let webhooks = read("config/webhook/manifests.yaml");
    assert!(
        webhooks.contains("path: /mutate-crew-example-com-v1-captain\n"),
        "{webhooks}"
    );
    // The tests ran under that role, which was enough, and have said what they used of it.
    let audit = place.done("audit rbac --test");
    assert!(audit.contains("never used   configmaps "), "{audit}");
    assert!(!audit.contains("missing"), "{audit}");

    place.done("remove controller roll_out");
    place.done("remove version v2");
    place.done("remove api Port");
    place.done("remove webhook Pod");
    place.done("remove webhook Captain");
    cargo(&place, "fmt --check");
    cargo(&place, "build --all-targets");
    place.done("generate");
    assert!(!read("config/rbac/role.yaml").contains("configmaps"));
    let ports = "config/crd/bases/crew.example.com_ports.yaml";
    assert!(!place.path().join(ports).exists());
    assert!(!place.path().join("config/webhook/manifests.yaml").exists());
}

/// Runs `cargo check` in a project that does not compile, and returns its errors.
#[track_caller]
fn errors(place: &Place) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["check", "--message-format", "short"])
        .current_dir(place.path())
        .env("CARGO_TARGET_DIR", target())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = said.lines().filter(|line| line.contains(": error"));
    told.map(str::to_owned).collect()
}

#[test]
fn a_mistake_in_the_types_is_reported_once_with_its_position() {
    let Some(_alone) = alone() else { return };
    let place = Place::project();
    lock(&place);
    let types = place.path().join("src/api/crew/v1/captain.rs");
    let scaffolded = fs::read_to_string(&types).unwrap();
    let field = "    pub foo: Option<String>,\n";
    let write = |lines: &str| {
        let text = scaffolded.replacen(field, &format!("{field}{lines}"), 1);
        fs::write(&types, &text).unwrap();
        let at = |wanted: &str| text.lines().position(|line| line.contains(wanted)).unwrap() + 1;
        at(lines.lines().next().unwrap())
    };

    let line = write("    #[schema(minimum = 1)]\n    pub ship: String,\n");
    let told = errors(&place);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(
        told[0].starts_with(&format!(
            "src/api/crew/v1/captain.rs:{line}:14: error: `minimum` is for numbers"
        )),
        "{told:#?}"
    );

    let line = write("    #[schema(default = 0, minimum = 1)]\n    pub mates: i32,\n");
    let sentence = place.refused("generate crd");
    assert_eq!(
        sentence,
        format!(
            "src/api/crew/v1/captain.rs:{line}:14: the default 0 of .spec.mates is not valid: in body should be greater than or equal \
             to 1; correct Captain v1"
        )
    );

    let line = write("    #[schema(rule(\"self.size() > limit\"))]\n    pub ship: String,\n");
    let sentence = place.refused("generate crd");
    assert!(
        sentence.starts_with(&format!(
            "src/api/crew/v1/captain.rs:{line}:19: the rule \"self.size() > limit\" of .spec.ship is not valid: compilation failed:"
        )),
        "{sentence}"
    );

    // The names in errors of the compiler are those that users write.
    fs::write(&types, &scaffolded).unwrap();
    let controller = place.path().join("src/controller/captain.rs");
    let text = fs::read_to_string(&controller).unwrap();
    let wrong = text.replacen(
        "    Ok(Action::done())",
        "    let _: () = ctx;\n    Ok(())",
        1,
    );
    fs::write(&controller, wrong).unwrap();
    let told = errors(&place).join("\n");
    assert!(told.contains("`Context<Captain>`"), "{told}");
    assert!(told.contains("`Action`"), "{told}");
    assert!(!told.contains("kubewright_controller"), "{told}");
}

#[test]
fn a_project_of_kubebuilder_has_the_same_definitions_and_roles_in_rust() {
    let Some(_alone) = alone() else { return };
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

#[test]
fn a_project_with_kinds_that_it_serves_itself_builds_and_its_tests_pass() {
    let Some(_alone) = alone() else { return };
    let place = Place::project();
    lock(&place);
    place.done("create api --aggregated --group sky --version v1 --kind Planet --namespaced=false");
    place.done("create api --aggregated=store --group sky --version v1 --kind Comet");
    place.done("create subresource orbit --for sky/v1/Planet");
    place.done("create subresource diary --for sky/v1/Planet --log");
    place.done("create subresource radio --for sky/v1/Comet --exec");
    place.done("create subresource limits --for sky/v1/Planet --update");
    place.done("create subresource launch --for sky/v1/Planet --create");
    place.done("create subresource ports --for sky/v1/Comet --port-forward");
    place.done("add controller --for sky/v1/Comet");
    cargo(&place, "fmt --check");
    cargo(&place, "test --lib --bins --tests");
    place.done("generate");
    assert_eq!(place.done("generate --check"), "everything is up to date\n");
    let read = |path: &str| fs::read_to_string(place.path().join(path)).unwrap();
    let services = read("config/apiserver/apiservice.yaml");
    assert!(
        services.contains("name: v1.sky.example.com\n"),
        "{services}"
    );
    let crds = fs::read_dir(place.path().join("config/crd/bases")).unwrap();
    assert_eq!(crds.count(), 1);
    place.done("remove api Comet");
    place.done("remove api Planet");
    cargo(&place, "fmt --check");
    cargo(&place, "build --all-targets");
}

/// The files that the chapter about API servers shows.
const API_SERVER: [&str; 5] = [
    "src/api/sky/v1/planet.rs",
    "src/apiserver/planet.rs",
    "src/apiserver/planet_orbit.rs",
    "tests/planet_api.rs",
    "tests/planet_orbit.rs",
];

#[test]
fn the_book_leads_to_an_api_server_whose_tests_pass() {
    let Some(_alone) = alone() else { return };
    let place = Place::new();
    place.done("new sky-server --apiserver --domain example.com");
    let place = place.within("sky-server");
    lock(&place);
    place.done("create api --aggregated --group sky --version v1 --kind Planet --namespaced=false");
    place.done("create subresource orbit --for sky/v1/Planet --log");
    cargo(&place, "test --lib --bins --tests");
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/apiserver");
    for file in API_SERVER {
        assert!(place.path().join(file).is_file(), "{file} was scaffolded");
        fs::copy(pages.join(file), place.path().join(file)).unwrap();
    }
    let tests = place.json("test");
    assert_eq!(tests["succeeded"], true, "{tests}");
    assert_eq!(tests["passed"], 2, "{tests}");
}

/// The files that the pages of the tutorial show.
const TUTORIAL: [&str; 9] = [
    "src/api/web/v1/site.rs",
    "src/api/web/v2/site.rs",
    "src/api/web/v2/site_from_v1.rs",
    "src/controller/site.rs",
    "src/webhook/site.rs",
    "tests/site.rs",
    "tests/site_v1_v2.rs",
    "tests/site_webhook.rs",
    "config/samples/web_v1_site.yaml",
];

#[test]
fn the_tutorial_leads_to_an_operator_whose_tests_pass() {
    let Some(_alone) = alone() else { return };
    let place = Place::new();
    place.done("new site-operator --domain example.com");
    let place = place.within("site-operator");
    lock(&place);
    place.done("create api --group web --version v1 --kind Site");
    for webhook in ["--defaulting", "--programmatic-validation"] {
        place.done(&format!(
            "create webhook --group web --version v1 --kind Site {webhook}"
        ));
    }
    place.done("add version v2 --from v1 --kind Site");
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/tutorial");
    for file in TUTORIAL {
        assert!(place.path().join(file).is_file(), "{file} was scaffolded");
        fs::copy(pages.join(file), place.path().join(file)).unwrap();
    }
    let tests = place.json("test");
    assert_eq!(tests["succeeded"], true, "{tests}");
    assert_eq!(tests["passed"], 9, "{tests}");
}

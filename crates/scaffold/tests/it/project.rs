//! Projects: made, added to, taken apart.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use kubewright_scaffold::{
    AddApi, AddController, AddVersion, Dependency, Edit, Edits, Error, Gvk, NewProject, Package,
    PartState, Plan, Project, Remove, finish_interrupted, status,
};

/// A directory that goes with the test.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Directory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("kubewright-scaffold-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    /// With a project in it.
    pub(crate) fn project() -> Directory {
        let directory = Directory::new();
        crew().plan(&directory.0).unwrap().write().unwrap();
        directory
    }

    /// With a project that has a kind.
    pub(crate) fn with_captain() -> Directory {
        let directory = Directory::project();
        directory.write(captain().plan(&directory.open()));
        directory
    }

    pub(crate) fn open(&self) -> Project {
        Project::find(&self.0).unwrap()
    }

    /// A file in it.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    pub(crate) fn write(&self, plan: Result<Plan, Error>) {
        plan.unwrap().write().unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap()
    }

    /// All files and what they say.
    pub(crate) fn everything(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        walk(&self.0, &mut found);
        found.sort();
        found
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn walk(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => walk(&path, found),
            false => found.push((path.clone(), fs::read_to_string(&path).unwrap())),
        }
    }
}

pub(crate) fn crew() -> NewProject {
    NewProject {
        name: "crew-operator".into(),
        domain: "example.com".into(),
        namespaced: false,
        kubewright: Dependency::Version("0.1.0".into()),
        package: Package::default(),
    }
}

pub(crate) fn api(gvk: &str) -> AddApi {
    AddApi {
        gvk: Gvk::parse(gvk).unwrap(),
        plural: None,
        namespaced: true,
        resource: true,
        controller: true,
        force: false,
    }
}

pub(crate) fn captain() -> AddApi {
    api("crew/v1/Captain")
}

pub(crate) fn v2() -> AddVersion {
    AddVersion {
        group: String::new(),
        kind: "Captain".into(),
        version: "v2".into(),
        from: "v1".into(),
        storage: false,
    }
}

/// The error, after a look that nothing has changed.
pub(crate) fn refused(
    directory: &Directory,
    plan: impl FnOnce(&Project) -> Result<Plan, Error>,
) -> String {
    let before = directory.everything();
    let error = plan(&directory.open()).unwrap_err().to_string();
    assert_eq!(directory.everything(), before);
    error
}

#[test]
fn a_project_with_one_api_is_small() {
    let directory = Directory::with_captain();
    let files = directory.everything();
    let lines: usize = files.iter().map(|(_, text)| text.lines().count()).sum();
    assert!(files.len() <= 16, "{} files", files.len());
    assert!(lines <= 400, "{lines} lines");
    assert!(directory.read("src/main.rs").lines().count() <= 12);
    for (path, text) in &files {
        assert!(!text.contains("{{"), "{}", path.display());
    }
    let controller = directory.read("src/controller/captain.rs");
    let (_, reconcile) = controller.split_once("async fn reconcile").unwrap();
    assert!(reconcile.lines().count() <= 25, "{reconcile}");
}

#[test]
fn the_image_is_one_static_program_that_is_not_root() {
    let directory = Directory::project();
    let file = directory.read("Dockerfile");
    let (build, image) = file.split_once("\nFROM scratch\n").unwrap();
    assert!(build.contains("FROM rust:1-alpine AS build"), "{build}");
    assert!(
        build.contains("cargo build --release --bin crew-operator"),
        "{build}"
    );
    assert!(
        image.contains("\nUSER 65532:65532\nENTRYPOINT [\"/crew-operator\"]\n"),
        "{image}"
    );
    // The Deployment demands a user that is not root, by number.
    assert_eq!(image.matches("COPY").count(), 2, "{image}");
}

#[test]
fn the_workflow_checks_what_the_tool_generated_with_the_same_tool() {
    let mut new = crew();
    new.kubewright = Dependency::git("git+https://example.com/k.git?rev=0a1b2c").unwrap();
    let directory = Directory::new();
    directory.write(new.plan(&directory.0));
    let workflow = directory.read(".github/workflows/ci.yml");
    let parsed = kubewright_scaffold::parse_manifests(&workflow).unwrap();
    let steps = parsed[0]["jobs"]["test"]["steps"].as_array().unwrap();
    let last = steps.last().unwrap();
    assert_eq!(
        last["run"],
        "cargo install --locked --git 'https://example.com/k.git' --rev '0a1b2c' kubewright-cli && kubewright generate --check"
    );
    assert_eq!(last["if"], "hashFiles('config/crd/bases/*.yaml') != ''");
    assert_eq!(
        parsed[0]["jobs"]["image"]["steps"][1]["run"],
        "docker build ."
    );
    let manifest = directory.read("Cargo.toml");
    let entry =
        "kubewright = { git = \"https://example.com/k.git\", rev = \"0a1b2c\", features = [";
    assert_eq!(manifest.matches(entry).count(), 2, "{manifest}");
}

#[test]
fn a_repository_keeps_the_image_and_the_workflow_that_it_has() {
    let directory = Directory::new();
    fs::write(directory.0.join("Dockerfile"), "FROM mine\n").unwrap();
    directory.write(crew().plan(&directory.0));
    assert_eq!(directory.read("Dockerfile"), "FROM mine\n");
}

#[test]
fn an_api_is_registered_and_recorded() {
    let directory = Directory::with_captain();
    let library = directory.read("src/lib.rs");
    assert!(library.contains("    operator.api::<api::crew::v1::Captain>();\n    controller::captain::register(operator);\n}"));
    let project = directory.open();
    assert_eq!(project.resources[0].controllers, ["captain"]);
    assert_eq!(project.full_group("crew"), "crew.example.com");
    let states = status(&project).unwrap();
    assert!(
        states
            .iter()
            .all(|part| matches!(part.state, PartState::New | PartState::Edited)),
        "{states:?}"
    );
}

#[test]
fn kinds_share_the_files_of_their_version() {
    let directory = Directory::with_captain();
    directory.write(api("crew/v1/FirstMate").plan(&directory.open()));
    let version = directory.read("src/api/crew/v1/mod.rs");
    assert_eq!(
        version,
        "//! Version `v1` of `crew.example.com`.\n\npub mod captain;\npub mod first_mate;\n\n\
         pub use captain::{Captain, CaptainSpec, CaptainStatus};\n\
         pub use first_mate::{FirstMate, FirstMateSpec, FirstMateStatus};\n"
    );
}

#[test]
fn code_of_users_is_left_alone() {
    let directory = Directory::project();
    let mine = directory.read("src/lib.rs").replace(
        "    operator.version",
        "      // }  mine\n    operator  .  version",
    );
    fs::write(directory.0.join("src/lib.rs"), &mine).unwrap();
    directory.write(captain().plan(&directory.open()));
    let after = directory.read("src/lib.rs");
    let added = [
        "    operator.api::<api::crew::v1::Captain>();\n",
        "    controller::captain::register(operator);\n",
    ];
    assert_eq!(
        added
            .iter()
            .fold(after, |text, line| text.replace(line, "")),
        mine
    );
}

#[test]
fn without_the_function_the_user_gets_the_lines() {
    let directory = Directory::project();
    fs::write(directory.0.join("src/lib.rs"), "pub mod api;\n").unwrap();
    let plan = captain().plan(&directory.open()).unwrap();
    let lines: Vec<&String> = plan
        .pastes()
        .iter()
        .flat_map(|paste| &paste.lines)
        .collect();
    assert_eq!(
        lines,
        [
            "operator.api::<api::crew::v1::Captain>();",
            "controller::captain::register(operator);"
        ]
    );
    // The module of the controllers is declared all the same.
    let library = plan.changes().iter().find(|it| it.path == "src/lib.rs");
    let library = library.and_then(|it| it.after.as_deref());
    assert_eq!(library, Some("pub mod api;\npub mod controller;\n"));
}

#[test]
fn removing_a_kind_leaves_what_was_before() {
    let directory = Directory::project();
    let before = directory.everything();
    directory.write(captain().plan(&directory.open()));
    directory.write(v2().plan(&directory.open()));
    let remove = Remove::Api {
        group: String::new(),
        kind: "Captain".into(),
    };
    directory.write(remove.plan(&directory.open(), Edits::Keep));
    let names = |files: &[(PathBuf, String)]| {
        files
            .iter()
            .map(|(path, _)| path.clone())
            .collect::<Vec<_>>()
    };
    let after = directory.everything();
    assert_eq!(names(&after), names(&before));
    assert_eq!(
        directory.read("src/lib.rs"),
        before
            .iter()
            .find(|(path, _)| path.ends_with("src/lib.rs"))
            .unwrap()
            .1
    );
    assert_eq!(directory.open().resources, []);
}

#[test]
fn a_kind_may_have_the_name_of_a_built_in_one_under_a_domain() {
    let directory = Directory::project();
    directory.write(api("batch/v1/CronJob").plan(&directory.open()));
    let types = directory.read("src/api/batch/v1/cron_job.rs");
    assert!(types.contains("group = \"batch.example.com\""), "{types}");
    // A further version, as kubebuilder's tutorial adds it.
    directory.write(api("batch/v2/CronJob").plan(&directory.open()));
    let types = directory.read("src/api/batch/v2/cron_job.rs");
    assert!(
        types.contains("    version = \"v2\",\n    storage = false,\n"),
        "{types}"
    );
    assert_eq!(
        directory.open().resources[1].controllers,
        Vec::<String>::new()
    );

    let mut new = crew();
    new.domain = "k8s.io".into();
    let directory = Directory::new();
    directory.write(new.plan(&directory.0));
    let add = api("networking/v1/Ingress");
    assert_eq!(
        refused(&directory, |project| add.plan(project)),
        "the group networking.k8s.io is built into Kubernetes; choose another group, or make a controller for its kinds with \
         --resource=false"
    );
}

#[test]
fn a_controller_can_be_for_a_built_in_kind_and_own_others() {
    let directory = Directory::with_captain();
    let add = AddController {
        target: Gvk::parse("apps/v1/Deployment").unwrap(),
        name: Some("roll-out".into()),
        owns: vec![
            Gvk::parse("v1/ConfigMap").unwrap(),
            Gvk::parse("networking/v1/Ingress").unwrap(),
        ],
        force: false,
    };
    directory.write(add.plan(&directory.open()));
    let source = directory.read("src/controller/roll_out.rs");
    assert!(source.contains("use k8s_openapi::api::networking::v1::Ingress;"));
    assert!(source.contains(".owns::<ConfigMap>()"));
    assert_eq!(directory.open().resources[1].group, "apps");
    let remove = Remove::Controller {
        name: "roll_out".into(),
    };
    // The project knows what was asked for.
    assert!(
        directory
            .read("operator.toml")
            .contains("owns = { roll_out = [\"v1/ConfigMap\", \"networking/v1/Ingress\"] }")
    );
    let states = status(&directory.open()).unwrap();
    assert!(
        states.iter().all(|part| part.state == PartState::New),
        "{states:?}"
    );
    directory.write(remove.plan(&directory.open(), Edits::Keep));
    assert_eq!(directory.open().resources.len(), 1);
    assert!(!directory.read("operator.toml").contains("owns"));
}

#[test]
fn the_test_of_a_controller_that_owns_workloads_has_nodes() {
    let directory = Directory::with_captain();
    let add = AddController {
        target: Gvk::parse("crew/v1/Captain").unwrap(),
        name: Some("ship".into()),
        owns: vec![Gvk::parse("apps/v1/Deployment").unwrap()],
        force: false,
    };
    directory.write(add.plan(&directory.open()));
    assert!(
        directory
            .read("tests/ship.rs")
            .contains(".start_test_with_nodes(1)")
    );
    assert!(directory.read("tests/captain.rs").contains(".start_test()"));
    let manifest = directory.read("Cargo.toml");
    let (_, tests) = manifest.split_once("[dev-dependencies]").unwrap();
    assert!(
        tests.contains("features = [\"workloads\", \"testing\"]"),
        "{manifest}"
    );
    let states = status(&directory.open()).unwrap();
    assert!(
        states.iter().all(|part| part.state == PartState::New),
        "{states:?}"
    );
}

#[test]
fn bad_input_is_refused_in_one_sentence_and_changes_nothing() {
    let directory = Directory::with_captain();
    let sentence = |add: AddApi| refused(&directory, |project| add.plan(project));
    assert_eq!(
        sentence(captain()),
        "crew/v1/Captain exists already; choose another name, or replace it with --force"
    );
    let mut scope = api("crew/v2/Captain");
    scope.namespaced = false;
    assert_eq!(
        sentence(scope),
        "crew/v1/Captain is namespaced; use --namespaced=true"
    );
    let mut other = api("crew/v2/Captain");
    other.plural = Some("skippers".into());
    assert_eq!(
        sentence(other),
        "the plural of Captain is \"captains\"; leave out --plural"
    );
    let mut group = api("crew/v1/Mate");
    group.gvk.group = "Crew".into();
    assert!(sentence(group).starts_with("\"Crew\" cannot be a group; use"));
    let mut plural = api("crew/v1/Mate");
    plural.plural = Some("captains".into());
    assert_eq!(
        sentence(plural),
        "the plural \"captains\" belongs to Captain already; choose another with --plural"
    );
    let mut nothing = api("crew/v1/Mate");
    (nothing.resource, nothing.controller) = (false, false);
    assert!(sentence(nothing).starts_with("there is nothing to make"));
    let mut unknown = api("crew/v1/Mate");
    unknown.resource = false;
    assert!(
        sentence(unknown)
            .starts_with("crew/v1/Mate is neither a kind of this project nor a built-in one;")
    );
    let edit = Edit {
        domain: Some("other.com".into()),
        ..Edit::default()
    };
    assert_eq!(
        refused(&directory, |project| edit.plan(project)),
        "Captain is in the group crew.example.com already; keep the domain, or remove the kinds first"
    );
    let twice = refused(&directory, |project| crew().plan(project.root()));
    assert!(twice.ends_with("is a project already; add to it with `kubewright create api`"));
}

#[test]
fn edited_files_are_not_removed() {
    let directory = Directory::with_captain();
    let path = directory.0.join("src/api/crew/v1/captain.rs");
    fs::write(
        &path,
        directory.read("src/api/crew/v1/captain.rs") + "// mine\n",
    )
    .unwrap();
    let remove = Remove::Api {
        group: String::new(),
        kind: "Captain".into(),
    };
    assert_eq!(
        refused(&directory, |project| remove.plan(project, Edits::Keep)),
        "src/api/crew/v1/captain.rs has work in it; save what you need, then remove it with --force"
    );
}

#[test]
fn a_file_that_is_in_the_way_is_not_replaced() {
    let directory = Directory::project();
    fs::create_dir_all(directory.0.join("tests")).unwrap();
    fs::write(directory.0.join("tests/captain.rs"), "mine").unwrap();
    assert_eq!(
        refused(&directory, |project| captain().plan(project)),
        "tests/captain.rs exists already; move it away, or replace it with --force"
    );
}

#[test]
fn a_write_that_cannot_be_done_changes_nothing() {
    let directory = Directory::project();
    let plan = captain().plan(&directory.open()).unwrap();
    // A file where a directory has to be.
    fs::write(directory.0.join("tests"), "").unwrap();
    let before = directory.everything();
    let error = plan.write().unwrap_err().to_string();
    assert!(error.contains("tests"), "{error}");
    assert_eq!(directory.everything(), before);
}

#[test]
fn a_plan_that_others_have_overtaken_is_not_written() {
    let directory = Directory::project();
    let plan = captain().plan(&directory.open()).unwrap();
    fs::write(directory.0.join("src/lib.rs"), "mine").unwrap();
    let before = directory.everything();
    assert_eq!(
        plan.write().unwrap_err().to_string(),
        "src/lib.rs has just been changed by another program; run the command again"
    );
    assert_eq!(directory.everything(), before);
}

#[test]
fn an_interrupted_write_is_finished_by_the_next_command() {
    let directory = Directory::project();
    fs::write(directory.0.join("src/lib.rs.kubewright-new"), "new").unwrap();
    let journal = r#"{"renames": [["src/done.kubewright-new", "src/main.rs"], ["src/lib.rs.kubewright-new", "src/lib.rs"]], "removals": ["README.md", "gone"]}"#;
    fs::write(directory.0.join(".kubewright-journal.json"), journal).unwrap();
    assert!(finish_interrupted(&directory.0).unwrap());
    assert_eq!(directory.read("src/lib.rs"), "new");
    assert!(!directory.0.join("README.md").exists());
    assert!(!directory.0.join(".kubewright-journal.json").exists());
    assert!(!finish_interrupted(&directory.0).unwrap());
}

#[test]
fn a_journal_cannot_reach_out_of_the_project() {
    let directory = Directory::project();
    let journal = r#"{"renames": [], "removals": ["../../outside"]}"#;
    fs::write(directory.0.join(".kubewright-journal.json"), journal).unwrap();
    let error = finish_interrupted(&directory.0).unwrap_err().to_string();
    assert!(error.contains("names files outside the project"), "{error}");
}

#[test]
fn outside_a_project_the_sentence_says_how_to_make_one() {
    let directory = Directory::new();
    assert_eq!(
        Project::find(&directory.0).unwrap_err().to_string(),
        "there is no operator.toml here or above; go to a project, or make one with `kubewright new`"
    );
}

#[test]
fn a_plan_stays_in_its_directory() {
    let directory = Directory::new();
    let inside = directory.path("inside");
    fs::create_dir_all(&inside).unwrap();
    for path in ["../x", "/tmp/x", "a/../../x", "", ".", "a/"] {
        let mut plan = Plan::new(&inside);
        assert!(plan.create(path, "x".into()).is_err(), "{path:?}");
        assert!(plan.set(path, None).is_err(), "{path:?}");
        assert!(plan.read(path).is_err(), "{path:?}");
    }
    assert_eq!(fs::read_dir(directory.path("")).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn links_are_never_written_through() {
    use std::os::unix::fs::symlink;
    let directory = Directory::new();
    let (inside, outside) = (directory.path("inside"), directory.path("outside"));
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(&outside).unwrap();
    let precious = outside.join("precious");
    fs::write(&precious, "precious").unwrap();
    symlink(&outside, inside.join("link")).unwrap();
    symlink(&precious, inside.join("a.kubewright-new")).unwrap();
    symlink(&precious, inside.join("b")).unwrap();

    // A directory that leads out.
    let mut plan = Plan::new(&inside);
    assert!(plan.create("link/new", "x".into()).is_err());
    // A link in the way of the temporary file, and a file that is a link.
    plan.create("a", "x".into()).unwrap();
    plan.set("b", Some("x".into())).unwrap();
    plan.write().unwrap();
    assert_eq!(fs::read_to_string(inside.join("b")).unwrap(), "x");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");

    // A journal that came with the project.
    fs::write(inside.join("evil"), "evil").unwrap();
    let journal = r#"{"renames": [["evil", "link/precious"]], "removals": []}"#;
    fs::write(inside.join(".kubewright-journal.json"), journal).unwrap();
    assert!(finish_interrupted(&inside).is_err());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

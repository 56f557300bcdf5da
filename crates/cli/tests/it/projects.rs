//! `new`, `create api` and their like, as a user calls them.
//!
//! Tests that build projects are in `whole_projects`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
};

/// A directory that is removed with the test.
pub(crate) struct Place {
    path: PathBuf,
    /// The program that is run as cargo.
    cargo: String,
}

impl Place {
    fn at(path: PathBuf) -> Place {
        let cargo = env!("CARGO").to_owned();
        Place { path, cargo }
    }

    pub(crate) fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("kubewright-cli-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Place::at(path)
    }

    /// Creates a project with a kind.
    pub(crate) fn project() -> Place {
        let place = Place::new();
        place.done("new crew-operator --domain example.com");
        let place = place.within("crew-operator");
        place.done("create api --group crew --version v1 --kind Captain");
        place
    }

    fn keep(self) -> PathBuf {
        let path = self.path.clone();
        std::mem::forget(self);
        path
    }

    /// A directory in it.
    pub(crate) fn within(self, directory: &str) -> Place {
        Place::at(self.keep().join(directory))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Sets another cargo.
    pub(crate) fn with_cargo(mut self, cargo: String) -> Place {
        self.cargo = cargo;
        self
    }

    /// Returns a command line of the tool, to run here.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
        command
            .args(line.split_whitespace())
            .current_dir(&self.path)
            .env("CARGO", &self.cargo)
            .env("CARGO_TARGET_DIR", target())
            .env("KUBECONFIG", "/no/such/kubeconfig");
        command
    }

    pub(crate) fn call(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Returns the JSON document of a command; nothing else may be on standard output.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        let text = self.done(&format!("{line} -o json"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{line}: {e} in {text:?}"))
    }

    /// Returns the standard output of a command that succeeds.
    #[track_caller]
    pub(crate) fn done(&self, line: &str) -> String {
        let output = self.call(line);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the error of a command that fails, after checking that nothing changed.
    #[track_caller]
    pub(crate) fn refused(&self, line: &str) -> String {
        let before = files(&self.path);
        let output = self.call(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(files(&self.path) == before, "{line} changed files");
        let text = String::from_utf8(output.stderr).unwrap();
        let sentence = text.strip_prefix("error: ").unwrap().trim_end();
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
        sentence.to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.path);
        // The directory around a project.
        if let Some(parent) = self
            .path
            .parent()
            .filter(|parent| *parent != std::env::temp_dir())
        {
            _ = fs::remove_dir(parent);
        }
    }
}

/// Returns the target directory of this workspace, so that projects reuse its artifacts.
pub(crate) fn target() -> &'static Path {
    let tool = Path::new(env!("CARGO_BIN_EXE_kubewright"));
    tool.ancestors().nth(2).unwrap()
}

/// Lists everything in a directory, including directories.
pub(crate) fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => {
                found.extend(files(&path));
                found.push((path, Vec::new()));
            }
            false => found.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn a_project_is_made_and_listed() {
    let place = Place::project();
    let listed = place.done("list");
    assert!(
        listed.contains("Captain   crew.example.com   v1        Namespaced   captain"),
        "{listed}"
    );
    let json: serde_json::Value = serde_json::from_str(&place.done("list -o json")).unwrap();
    assert_eq!(json["resources"][0]["plural"], "captains");
    let status = place.done("status");
    assert!(
        status.contains("src/api/crew/v1/captain.rs            as scaffolded"),
        "{status}"
    );
}

#[test]
fn a_project_built_from_a_checkout_depends_on_it() {
    let place = Place::project();
    let manifest = fs::read_to_string(place.path.join("Cargo.toml")).unwrap();
    assert!(manifest.contains("kubewright = { path = "), "{manifest}");
    let other = Place::new();
    other.done("init --domain example.com --project-name a --kubewright 0.1.0");
    let manifest = fs::read_to_string(other.path.join("Cargo.toml")).unwrap();
    assert!(
        manifest.contains("kubewright = { version = \"0.1.0\""),
        "{manifest}"
    );
}

#[test]
fn a_project_that_is_shared_depends_on_a_git_repository() {
    let place = Place::new();
    place.done("new crew --kubewright git+https://example.com/kubewright.git?tag=v0.1.0");
    let manifest = fs::read_to_string(place.path.join("crew/Cargo.toml")).unwrap();
    let entry = "kubewright = { git = \"https://example.com/kubewright.git\", tag = \"v0.1.0\", ";
    assert_eq!(manifest.matches(entry).count(), 2, "{manifest}");
    let sentence = place.refused("new other --kubewright git+https://example.com/k?commit=a");
    assert!(sentence.contains("; write git+https://host/"), "{sentence}");
}

#[test]
fn commands_of_kubebuilder_work_unchanged() {
    let place = Place::new();
    place.done(
        "init --domain example.com --repo example.com/guestbook --project-name guestbook --license apache2 --owner me \
         --plugins=go/v4,helm/v2-alpha --project-version 3 --fetch-deps=false --skip-go-version-check --multigroup=true",
    );
    place.done("create api --group webapp --version v1 --kind Guestbook --resource --controller --make=false");
    place.done("create api --group webapp --version v1 --kind Menu --resource=true --controller=false --namespaced=false --plural menues");
    place.done(
        "create api --group apps --version v1 --kind Deployment --resource=false --controller=true",
    );
    place.done("edit --multigroup=true --namespaced --plugins=helm/v2-alpha");
    let listed = place.done("list");
    assert!(
        listed.contains("Menu         webapp.example.com   v1        Cluster"),
        "{listed}"
    );
    assert!(listed.contains("built in"), "{listed}");
}

#[test]
fn the_commands_of_kubebuilders_tutorial_work_unchanged() {
    let place = Place::new();
    fs::create_dir(place.path.join("project")).unwrap();
    let place = place.within("project");
    place.done("init --domain tutorial.kubebuilder.io --repo tutorial.kubebuilder.io/project");
    place.done("create api --group batch --version v1 --kind CronJob");
    place.done("create api --group batch --version v2 --kind CronJob");
    let listed = place.json("list");
    assert_eq!(listed["name"], "project");
    let both: Vec<&serde_json::Value> = listed["resources"].as_array().unwrap().iter().collect();
    for (resource, version) in both.iter().zip(["v1", "v2"]) {
        assert_eq!(resource["group"], "batch.tutorial.kubebuilder.io");
        assert_eq!(resource["version"], version);
        assert_eq!(resource["kind"], "CronJob");
    }
    assert_eq!(both.len(), 2);
    assert_eq!(both[0]["controllers"], serde_json::json!(["cron_job"]));
    let manifest = fs::read_to_string(place.path.join("Cargo.toml")).unwrap();
    assert!(
        manifest.contains("repository = \"https://tutorial.kubebuilder.io/project\"\n"),
        "{manifest}"
    );
}

#[test]
fn flags_of_kubebuilder_are_used_or_refused() {
    let place = Place::new();
    for (flags, begins) in [
        (
            "--plugins=deploy-image/v1-alpha",
            "the plugin \"deploy-image/v1-alpha\" of",
        ),
        (
            "--plugins=go/v4,grafana/v1-alpha",
            "the plugin \"grafana/v1-alpha\" of",
        ),
        ("--license-file header.txt", "files have no license header"),
        ("--license copyright", "--license copyright needs an owner"),
        ("--license ?", "\"?\" is not a license"),
        (
            "--multigroup=false",
            "kinds are always in directories by group",
        ),
        ("--fetch-deps", "cargo fetches the dependencies"),
        ("--project-version 2", "there is no project version \"2\""),
        ("--make", "there is no Makefile to run"),
    ] {
        let sentence = place.refused(&format!(
            "init --domain example.com --project-name a {flags}"
        ));
        assert!(sentence.starts_with(begins), "{flags}: {sentence}");
    }
    place.done("init --domain example.com --project-name a --license apache2 --owner Acme");
    let manifest = || fs::read_to_string(place.path.join("Cargo.toml")).unwrap();
    for entry in ["license = \"Apache-2.0\"\n", "authors = [\"Acme\"]\n"] {
        assert!(manifest().contains(entry), "{}", manifest());
    }
    place.done("edit --license none --repo github.com/acme/a");
    assert!(!manifest().contains("license"), "{}", manifest());
    assert!(
        manifest().contains("repository = \"https://github.com/acme/a\""),
        "{}",
        manifest()
    );
}

#[test]
fn the_version_is_that_of_the_tool_and_of_kubernetes() {
    let place = Place::new();
    let version = place.json("version");
    assert_eq!(version["kubewright"], env!("CARGO_PKG_VERSION"));
    assert!(
        version["kubernetes"].as_str().unwrap().starts_with("1.36."),
        "{version}"
    );
    let said = place.done("version");
    assert!(said.starts_with("kubewright: "), "{said}");
}

#[test]
fn a_storage_version_is_moved_and_the_old_one_removed() {
    let place = Place::project();
    place.done("add version v2 --from v1");
    let sentence = place.refused("remove version v1");
    assert!(
        sentence.starts_with("v1 is the storage version of Captain; move it"),
        "{sentence}"
    );
    place.done("edit --storage-version v2 --kind Captain");
    place.done("remove version v1");
    place.done("add version v3 --from v2 --storage");
    place.done("remove version v2");
    let listed = place.json("list");
    assert_eq!(listed["resources"][0]["version"], "v3");
    assert_eq!(
        listed["resources"][0]["controllers"],
        serde_json::json!(["captain"])
    );
    let controller = fs::read_to_string(place.path.join("src/controller/captain.rs")).unwrap();
    assert!(
        controller.contains("use crate::api::crew::v3::Captain;"),
        "{controller}"
    );
}

#[test]
fn a_dry_run_shows_a_diff_and_changes_nothing() {
    let place = Place::project();
    let before = files(&place.path);
    let diff = place.done("add version v2 --from v1 --dry-run");
    assert!(diff.contains("+++ b/src/api/crew/v2/captain.rs"), "{diff}");
    assert!(
        diff.contains("+    operator.api::<api::crew::v2::Captain>();"),
        "{diff}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&place.done("remove api Captain --dry-run -o json")).unwrap();
    assert_eq!(json["removed"][0], "config/samples/crew_v1_captain.yaml");
    assert_eq!(files(&place.path), before);
}

#[test]
fn bad_input_is_one_sentence_and_exit_code_2() {
    let place = Place::project();
    for (line, begins) in [
        (
            "create api --group Crew --version v1 --kind Mate",
            "\"Crew\" cannot be a group; use",
        ),
        (
            "create api --group crew --version 1 --kind Mate",
            "\"1\" is not a version; use",
        ),
        (
            "create api --group crew --version v1 --kind mate",
            "\"mate\" cannot be a kind; begin",
        ),
        (
            "create api --group crew --version v1 --kind Captain",
            "crew/v1/Captain exists already; choose",
        ),
        (
            "add api nonsense",
            "\"nonsense\" does not name a kind; write",
        ),
        (
            "add controller --for crew/v9/Mate",
            "crew/v9/Mate is neither a kind of this project nor",
        ),
        ("add version v2 --from v7", "the project has no v7; look"),
        (
            "remove version v1 --kind Captain",
            "v1 is the only version of Captain; remove",
        ),
        (
            "remove controller nobody",
            "there is no controller \"nobody\"; look",
        ),
        ("remove api Nobody", "the project has no Nobody; look"),
        (
            "edit --domain other.com",
            "Captain is in the group crew.example.com already; keep",
        ),
        ("new src", "src is not empty; choose"),
        (
            "new Bad_Name",
            "\"Bad_Name\" cannot be the name of a project; use",
        ),
        (
            "new other --domain not..a",
            "\"not..a\" is not a domain; use",
        ),
        (
            "new other --kubewright nowhere",
            "\"nowhere\" is neither a version, nor a git repository",
        ),
        ("init", "crew-operator is a project already; add"),
        (
            "import crd nowhere.yaml",
            "cannot read nowhere.yaml: No such file",
        ),
        ("import crd Cargo.toml", "Cargo.toml: this is not"),
        ("import crd --cluster a.b", "no cluster found:"),
    ] {
        let sentence = place.refused(line);
        assert!(sentence.contains(begins), "{line}: {sentence}");
    }
    fs::write(place.path.join("operator.toml"), "name = ").unwrap();
    assert!(
        place
            .refused("list")
            .starts_with("operator.toml is not TOML: line 1: ")
    );
}

#[test]
fn uncommitted_files_are_not_removed() {
    let place = Place::project();
    let git = |line: &str| {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(line.split_whitespace())
            .current_dir(&place.path)
            .output();
        output.is_ok_and(|output| output.status.success())
    };
    if !git("init -q") || !git("add -A") || !git("commit -qm first") {
        crate::skipped("a dirty tree: git is not installed");
        return;
    }
    let library = place.path.join("src/lib.rs");
    let text = fs::read_to_string(&library).unwrap();
    fs::write(&library, text + "// mine\n").unwrap();
    assert_eq!(
        place.refused("remove api Captain"),
        "src/lib.rs has uncommitted changes; commit them first, or use --force"
    );
    // Only inserts.
    place.done("create api --group crew --version v1 --kind Mate");
    place.done("remove api Captain --force");
    assert!(git("add -A") && git("commit -qm second"));
    place.done("remove api Mate");
}

#[test]
fn without_force_nothing_that_is_there_is_replaced() {
    let place = Place::project();
    let crd = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../scaffold/tests/crds/certificates.yaml"
    );
    for path in [
        "src/api/crew/v2/captain.rs",
        "src/api/port/v1/quay.rs",
        "src/controller/quay.rs",
        "types/certificates_v1.rs",
    ] {
        let path = place.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine\n").unwrap();
    }
    for (line, path) in [
        ("add version v2 --from v1", "src/api/crew/v2/captain.rs"),
        (
            "create api --group port --version v1 --kind Quay --controller=false",
            "src/api/port/v1/quay.rs",
        ),
        (
            "create api --group crew --version v1 --kind Quay",
            "src/controller/quay.rs",
        ),
        (
            &format!("import crd {crd} --out types"),
            "certificates_v1.rs",
        ),
    ] {
        let sentence = place.refused(line);
        assert!(
            sentence.starts_with(&format!("{path} exists already; ")),
            "{line}: {sentence}"
        );
    }
}

#[test]
fn an_interrupted_write_is_finished_first() {
    let place = Place::project();
    fs::write(place.path.join("src/lib.rs.kubewright-new"), "new\n").unwrap();
    let journal = r#"{"renames": [["src/lib.rs.kubewright-new", "src/lib.rs"]], "removals": []}"#;
    fs::write(place.path.join(".kubewright-journal.json"), journal).unwrap();
    place.done("list");
    assert_eq!(
        fs::read_to_string(place.path.join("src/lib.rs")).unwrap(),
        "new\n"
    );
    fs::write(place.path.join(".kubewright-journal.json"), "{").unwrap();
    let sentence = place.refused("list");
    assert!(
        sentence.ends_with("; remove it if no command is running"),
        "{sentence}"
    );
}

#[cfg(unix)]
#[test]
fn a_directory_that_may_not_be_written_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::project();
    let source = place.path.join("src");
    let allow = |mode| fs::set_permissions(&source, fs::Permissions::from_mode(mode)).unwrap();
    allow(0o555);
    // Who may do everything is not stopped by permissions.
    if fs::write(source.join("probe"), "").is_ok() {
        fs::remove_file(source.join("probe")).unwrap();
        allow(0o755);
        crate::skipped("no permission: these tests run as root");
        return;
    }
    let output = place.call("create api --group port --version v1 --kind Quay");
    allow(0o755);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("check its owner and your permissions"),
        "{said}"
    );
    assert!(!place.path.join("src/api/port").exists());
}

#[test]
fn cargo_calls_the_tool_too() {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-kubewright"))
        .args(["kubewright", "--version"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("kubewright {}\n", env!("CARGO_PKG_VERSION")));
    let place = Place::new();
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-kubewright"))
        .args(["kubewright", "list"])
        .current_dir(&place.path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn types_are_imported() {
    let place = Place::new();
    let crd = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../scaffold/tests/crds/certificates.yaml"
    );
    let printed = place.done(&format!("import crd {crd}"));
    assert!(printed.contains("pub struct CertificateSpec {"));
    place.done(&format!("import crd {crd} --out api"));
    assert!(place.path.join("api/certificates_v1.rs").is_file());
    assert!(!place.path.join("api/shared.rs").exists());
    let both = crd.replace("certificates", "gatewayclasses");
    place.done(&format!("import crd {crd} {both} --out together"));
    assert!(place.path.join("together/certificates_v1.rs").is_file());
    let shared = fs::read_to_string(place.path.join("together/shared.rs")).unwrap();
    assert!(shared.contains("pub struct Condition {"), "{shared}");
    let again = place.refused(&format!("import crd {crd} --version v9"));
    assert!(
        again.ends_with("has no version \"v9\"; omit --version to import all versions"),
        "{again}"
    );
}

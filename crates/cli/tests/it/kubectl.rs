//! Runs the scenarios in `conformance/kubectl` with the `kubectl` on the path, each against a server of its own.
//!
//! `KUBECTL` names another kubectl. `KUBEWRIGHT_SCENARIO_KUBECONFIG` names a server to use instead of ours, which is how
//! the scenarios are checked against a real kube-apiserver. `KUBEWRIGHT_RECORD` writes the answers into the files.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::{
    conformance,
    process::Process,
    scenario::{Scenario, Session, Surroundings, recorded},
    server::{Folder, Server},
    skipped,
};

/// The first minor release of kubectl that the scenarios are written for.
const OLDEST: u32 = 32;

/// Defines one test for each scenario, and one that checks that no scenario is missing.
macro_rules! scenarios {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_scenario_is_run() {
            let mut names: Vec<_> = fs::read_dir(conformance().join("kubectl"))
                .expect("scenarios")
                .map(|entry| entry.expect("a file").path())
                .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
                .collect();
            names.sort();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

scenarios! {
    access_can_be_asked_for
    api_resources_lists_what_is_served
    apply_merges_three_ways
    attach_follows_a_container
    autoscalers_follow_usage
    certificates_identify_users
    commands_run_in_containers
    create_makes_objects
    debug_containers_join_pods
    delete_removes_objects
    deployments_roll_out
    describe_tells_about_objects
    diff_shows_what_would_change
    drained_nodes_respect_budgets
    dry_run_changes_nothing
    edit_sends_what_the_editor_leaves
    every_kind_has_its_columns
    explain_tells_about_fields
    files_are_copied_to_and_from_containers
    get_prints_every_form
    label_and_annotate_change_metadata
    lists_come_in_chunks
    logs_are_read_and_followed
    namespaces_and_owners_take_everything_with_them
    nodes_are_cordoned_and_drained
    patch_changes_fields
    pods_run_to_their_end
    ports_are_forwarded
    proxy_serves_plain_http
    raw_requests_reach_the_server
    replace_writes_whole_objects
    roles_are_reconciled
    run_starts_pods
    scale_sets_replicas
    server_side_apply_owns_fields
    services_reach_their_pods
    taints_keep_pods_away
    tokens_identify_service_accounts
    usage_is_shown
    users_act_as_others
    validation_finds_unknown_fields
    wait_waits_for_conditions
    watch_follows_changes
}

/// The scenarios that need the built-in controllers. The others count what they have made.
const WITH_CONTROLLERS: [&str; 2] = [
    "certificates_identify_users",
    "namespaces_and_owners_take_everything_with_them",
];

/// The scenarios that need pods that run: all controllers, a scheduler and two nodes.
const WITH_NODES: [&str; 12] = [
    "attach_follows_a_container",
    "commands_run_in_containers",
    "debug_containers_join_pods",
    "deployments_roll_out",
    "drained_nodes_respect_budgets",
    "files_are_copied_to_and_from_containers",
    "logs_are_read_and_followed",
    "pods_run_to_their_end",
    "ports_are_forwarded",
    "services_reach_their_pods",
    "taints_keep_pods_away",
    "usage_is_shown",
];

/// The scenarios with nodes that wait for the periods of controllers, with a clock that is faster than the machine's.
const WITH_A_FAST_CLOCK: [&str; 1] = ["autoscalers_follow_usage"];

fn run(name: &str) {
    let Some(kubectl) = kubectl() else { return };
    let file = conformance().join("kubectl").join(format!("{name}.txt"));
    let text = fs::read_to_string(&file).expect("a scenario");
    if text.contains("$ curl ") && Command::new("curl").arg("--version").output().is_err() {
        return skipped(&format!("{name}: curl is not installed"));
    }
    let scenario =
        Scenario::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let folder = Folder::new();
    let kubeconfig = folder.path().join("kubeconfig");
    let other = env::var_os("KUBEWRIGHT_SCENARIO_KUBECONFIG").map(PathBuf::from);
    let server = other.is_none().then(|| {
        Server::start_with(match name {
            name if WITH_NODES.contains(&name) => &["--nodes=2"],
            name if WITH_A_FAST_CLOCK.contains(&name) => &["--nodes=2", "--clock-rate=60"],
            name if WITH_CONTROLLERS.contains(&name) => &[],
            _ => &["--controllers=none"],
        })
    });
    let original = server
        .as_ref()
        .map(Server::kubeconfig)
        .or(other)
        .expect("a server");
    fs::copy(original, &kubeconfig).expect("a kubeconfig");
    let run = |arguments: &str| {
        let mut command = Command::new(kubectl);
        command
            .args(arguments.split(' '))
            .env("KUBECONFIG", &kubeconfig)
            .env("HOME", folder.path());
        let (output, status) = Process::start(command, None).finish();
        assert!(status.success(), "{arguments}: {output}");
    };
    let namespace = name.replace('_', "-");
    run(&format!("create namespace {namespace}"));
    run(&format!(
        "config set-context --current --namespace={namespace}"
    ));
    let session = Session::new(Surroundings {
        kubectl,
        folder: folder.path(),
        kubeconfig: &kubeconfig,
    });
    let outcome = match env::var_os("KUBEWRIGHT_RECORD") {
        None => session.run(&scenario),
        Some(_) => recorded(session, scenario).and_then(|scenario| {
            fs::write(&file, scenario.to_string()).map_err(|error| error.to_string())
        }),
    };
    if server.is_none() {
        run(&format!("delete namespace {namespace} --wait=false"));
    }
    if let Err(error) = outcome {
        panic!("{}:\n{error}", file.display());
    }
}

/// The kubectl to use, if there is one and it is not too old.
pub(crate) fn kubectl() -> Option<&'static Path> {
    static KUBECTL: OnceLock<Option<PathBuf>> = OnceLock::new();
    KUBECTL
        .get_or_init(|| {
            let kubectl = PathBuf::from(env::var_os("KUBECTL").unwrap_or("kubectl".into()));
            let found = minor(&kubectl).and_then(|minor| match minor {
                OLDEST.. => Ok(()),
                minor => Err(format!("it is 1.{minor}")),
            });
            match found {
                Ok(()) => Some(kubectl),
                Err(why) => {
                    let kubectl = kubectl.display();
                    skipped(&format!(
                        "scenarios with kubectl, which need 1.{OLDEST} or later: {kubectl}: {why}"
                    ));
                    None
                }
            }
        })
        .as_deref()
}

fn minor(kubectl: &Path) -> Result<u32, String> {
    let output = Command::new(kubectl)
        .args(["version", "--client", "-o", "json"])
        .output()
        .map_err(|error| error.to_string())?;
    let version: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let minor = version["clientVersion"]["minor"]
        .as_str()
        .unwrap_or_default();
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    digits
        .parse()
        .map_err(|_| format!("its version is {version}"))
}

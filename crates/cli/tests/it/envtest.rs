//! `kubewright envtest`: the directory of programs, and Go tests that use it.
//!
//! `KUBEWRIGHT_GO_ENVTEST` being set says that the Go modules of `conformance/envtest` are there.

use std::{env, fs, process::Command};

use crate::{
    conformance,
    process::{PATIENCE, Process},
    server::{Folder, kubewright},
    skipped,
};

/// Makes the directory, and returns it.
fn assets() -> Folder {
    let folder = Folder::new();
    let mut command = kubewright();
    command.args(["envtest", "--dir"]).arg(folder.path());
    let (output, status) = Process::start(command, None).finish();
    assert!(status.success(), "{output}");
    let directory = folder.path().canonicalize().expect("the directory");
    let expected = format!("export KUBEBUILDER_ASSETS={}\n", directory.display());
    assert_eq!(output, expected);
    folder
}

fn asset(folder: &Folder, name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(folder.path().join(name));
    command.args(arguments);
    command
}

#[test]
fn the_programs_describe_their_flags_as_envtest_reads_them() {
    let folder = assets();
    let help = |name| {
        let (output, status) = Process::start(asset(&folder, name, &["--help"]), None).finish();
        assert!(status.success(), "{output}");
        output
    };
    let server = help("kube-apiserver");
    let has = |text: &str, flag: &str| text.lines().any(|line| line.trim_start().starts_with(flag));
    assert!(has(&server, "--client-ca-file string"), "{server}");
    assert!(!has(&server, "--insecure-port"), "{server}");
    assert!(has(&help("etcd"), "--unsafe-no-fsync"));
}

#[test]
fn flags_without_effect_are_warned_about_and_missing_behaviour_is_an_error() {
    let folder = assets();
    let run = |arguments: &[&str]| {
        let (output, status) =
            Process::start(asset(&folder, "kube-apiserver", arguments), None).finish();
        assert!(!status.success(), "{output}");
        output
    };
    let output = run(&["--etcd-prefix=/x", "--oidc-issuer-url=https://example.com"]);
    assert!(
        output.contains("--oidc-issuer-url is not supported by kubewright"),
        "{output}"
    );
    let output = run(&["--audit-log-format=legacy"]);
    assert!(output.contains("kubewright writes json only"), "{output}");
    let output = run(&["--audit-log-path=-", "--audit-policy-file=no-such-file"]);
    assert!(
        output.contains("cannot read the audit policy no-such-file"),
        "{output}"
    );
    let output = run(&["--insecure-port=0"]);
    assert!(output.contains("unknown flag: --insecure-port"), "{output}");
    for (arguments, sentence) in [
        (
            &["--feature-gates=WatchList=false"][..],
            "--feature-gates=WatchList=false is not supported by kubewright",
        ),
        (
            &["--feature-gates=Nope=true"],
            "unrecognized feature gate: Nope",
        ),
        (
            &["--service-account-lookup=false"],
            "--service-account-lookup=false is not supported by kubewright",
        ),
        (
            &["--service-account-key-file=sa.pub"],
            "--service-account-key-file needs --service-account-signing-key-file",
        ),
        (
            &["--proxy-client-cert-file=Cargo.toml"],
            "--proxy-client-cert-file and --proxy-client-key-file belong together",
        ),
        (
            &["--runtime-config=resource.k8s.io/v1beta1=true"],
            "--runtime-config=resource.k8s.io/v1beta1=true is not supported by kubewright",
        ),
        (
            &["--runtime-config=api/all=true", "--secure-port=none"],
            "warning: --runtime-config=api/all=true enables no alpha or beta version",
        ),
        (
            &["--max-requests-inflight=many"],
            "\"many\" for \"--max-requests-inflight\"",
        ),
    ] {
        let output = run(arguments);
        assert!(output.contains(sentence), "{output}");
    }
    let output = run(&["--etcd-servers=http://127.0.0.1:1", "--secure-port=none"]);
    let warning = "warning: --etcd-servers has no effect in kubewright: objects are kept in memory and not in etcd";
    assert!(output.contains(warning), "{output}");
    let output = run(&["--authorization-mode=Sometimes"]);
    assert!(
        output.contains("\"Sometimes\" for \"--authorization-mode\""),
        "{output}"
    );
}

#[test]
fn a_real_program_in_the_directory_is_not_replaced() {
    let folder = Folder::new();
    let path = folder.path().join("kube-apiserver");
    fs::write(&path, "a real one").expect("a file");
    let mut command = kubewright();
    command.args(["envtest", "--dir"]).arg(folder.path());
    let (output, status) = Process::start(command, None).finish();
    assert!(!status.success(), "{output}");
    assert!(output.contains("exists and is not a link"), "{output}");
    assert_eq!(fs::read_to_string(&path).expect("the file"), "a real one");
}

#[test]
fn go_tests_with_envtest_pass() {
    if env::var_os("KUBEWRIGHT_GO_ENVTEST").is_none() {
        return skipped(
            "Go tests with envtest: KUBEWRIGHT_GO_ENVTEST does not say that the modules of conformance/envtest are there",
        );
    }
    let folder = assets();
    let mut command = Command::new("go");
    command
        .args(["test", "-count=1", "-v", "./..."])
        .current_dir(conformance().join("envtest"))
        .env("KUBEBUILDER_ASSETS", folder.path())
        .env("GOFLAGS", "-mod=mod");
    let mut process = Process::start(command, None);
    // The first run compiles client-go.
    let output = process.output_until(10 * PATIENCE, |text| {
        text.contains("\nok ") || text.contains("\nFAIL") || text.contains("[build failed]")
    });
    assert!(output.contains("\nok "), "{output}");
    for test in [
        "TestUsersHaveTheRightsOfTheirRoles",
        "TestAManagerReconciles",
        "TestSeveralEnvironmentsRunAtOnce",
        "TestWebhooksOfControllerRuntimeAreCalled",
    ] {
        assert!(output.contains(&format!("--- PASS: {test}")), "{output}");
    }
}

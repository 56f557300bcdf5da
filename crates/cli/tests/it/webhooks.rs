//! The webhooks of an operator in `dev`, `run`, `install` and `doctor`. The operator is this test program: it serves webhooks
//! in the place of a program that cargo would have to build.
#![cfg(unix)]

use std::{
    collections::HashMap,
    fs,
    io::Read,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Output,
    time::Instant,
};

use kubewright_controller::{Routes, health::Checks, serve};
use kubewright_webhook::{
    Admission, AdmissionResponse, Certificates, PatchOperation, Webhook, WebhookServer, Webhooks,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    dev::{developed, model, shows},
    generating::{MODEL, project, script},
    new_user::got,
    process::{PATIENCE, Process},
    server::{Folder, Server, kubewright},
    skipped,
};

/// The variable with the arguments of the operator that this program is to be.
const STAND_IN: &str = "KUBEWRIGHT_TEST_STAND_IN";
/// The test that is the operator if that variable is set.
const TEST: &str = "webhooks::the_cluster_of_dev_calls_the_webhooks_while_the_operator_is_up";

const MUTATE: &str = "/mutate-crew-example-com-v1-captain";
const VALIDATE: &str = "/validate-crew-example-com-v1-captain";

/// The description of an operator with a defaulter and a validator.
fn described() -> Value {
    let entry = |name: &str| {
        json!({
            "name": name, "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "sideEffects": "None",
            "rules": [{
                "apiGroups": ["crew.example.com"], "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["captains"],
            }],
        })
    };
    let mut model = model();
    model["webhooks"] = json!([
        {"type": "mutating", "path": MUTATE, "webhook": entry("mcaptain-v1.kb.io")},
        {"type": "validating", "path": VALIDATE, "webhook": entry("vcaptain-v1.kb.io")},
    ]);
    model
}

/// Returns the shell commands that run this program as the operator.
fn operator() -> String {
    let program = std::env::current_exe().unwrap();
    let program = program.display();
    format!("{STAND_IN}=\"$*\" exec {program} --exact {TEST} --nocapture --quiet")
}

/// Writes an operator that is not part of a project.
fn executable(folder: &Folder) -> PathBuf {
    describe(folder, &described());
    let path = folder.path().join("operator");
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in describe) cat \"$(dirname \"$0\")/model.json\";; *) {};; esac\n",
        operator()
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn describe(folder: &Folder, model: &Value) {
    fs::write(folder.path().join("model.json"), model.to_string()).unwrap();
}

/// Serves webhooks until standard input is closed. A captain of the Titanic is denied, and one named `kraken` ends the program.
fn stand_in(arguments: &str) {
    let words: Vec<&str> = arguments.split(' ').collect();
    let flags: HashMap<&str, &str> = words.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let address = |flag: &str| flags.get(flag).and_then(|it| it.parse::<SocketAddr>().ok());
    let webhooks = webhooks();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        if let Some(address) = address("--metrics-bind-address") {
            let listener = TcpListener::bind(address).await.unwrap();
            let reviews = webhooks.clone();
            let routes = Routes::new()
                .health(Checks::new(), Checks::new())
                .debug("/debug/webhooks", move || reviews.debug_reviews());
            tokio::spawn(serve(listener, routes, std::future::pending()));
        }
        let listener = TcpListener::bind(address("--webhook-bind-address").unwrap());
        let certificates = Certificates::directory(flags["--webhook-cert-path"]);
        let server = WebhookServer::new(webhooks, certificates);
        tokio::spawn(server.serve(listener.await.unwrap(), std::future::pending()));
        let closed = tokio::task::spawn_blocking(|| {
            let mut ignored = Vec::new();
            std::io::stdin().read_to_end(&mut ignored)
        });
        closed.await.unwrap().unwrap();
    });
    // The server would wait for connections that are idle.
    std::process::exit(0);
}

fn webhooks() -> Webhooks {
    let spec = |ctx: &Admission<'_>| {
        let object: Value = serde_json::from_str(ctx.object().unwrap().get()).unwrap();
        object["spec"].clone()
    };
    let mutate = move |ctx: &Admission<'_>| match spec(ctx)["ship"].is_null() {
        true => AdmissionResponse::patched(vec![PatchOperation::Add {
            path: "/spec/ship".into(),
            value: json!("dinghy"),
        }]),
        false => AdmissionResponse::allowed(),
    };
    let validate = move |ctx: &Admission<'_>| match (ctx.name(), &spec(ctx)["ship"]) {
        (Some("kraken"), _) => std::process::exit(3),
        (_, ship) if ship == "titanic" => AdmissionResponse::denied("it sinks"),
        _ => AdmissionResponse::allowed(),
    };
    let builder = Webhooks::builder();
    let builder = builder.webhook(Webhook::mutating(MUTATE, mutate));
    let builder = builder.webhook(Webhook::validating(VALIDATE, validate));
    builder.build().unwrap()
}

/// Applies a captain to the cluster of a kubeconfig.
fn apply(folder: &Path, kubeconfig: &Path, name: &str, spec: &Value) -> Output {
    let captain = json!({
        "apiVersion": "crew.example.com/v1", "kind": "Captain",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    });
    let file = folder.join(format!("{name}.json"));
    fs::write(&file, captain.to_string()).unwrap();
    let mut command = kubewright();
    command.args(["deploy", "--file"]).arg(&file);
    command.arg("--kubeconfig").arg(kubeconfig);
    command.output().unwrap()
}

#[track_caller]
fn accepted(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[track_caller]
fn denied(output: &Output, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(why), "{said}");
}

#[test]
fn the_cluster_of_dev_calls_the_webhooks_while_the_operator_is_up() {
    if let Ok(arguments) = std::env::var(STAND_IN) {
        return stand_in(&arguments);
    }
    let place = developed(&described(), &operator());
    let kubeconfig = place.path().join("target/kubewright/kubeconfig");
    let captain =
        |name: &str, spec: &Value| apply(&place.path().join("target"), &kubeconfig, name, spec);
    let mut dev = Process::start(place.command("dev --samples=false"), None);
    shows(&mut dev, "webhooks  called at https://127.0.0.1:");

    accepted(&captain("ahab", &json!({})));
    let verdict =
        format!("review    captain default/ahab     CREATE  {MUTATE} -> allowed, 1 change, took ");
    shows(&mut dev, &verdict);
    let why = "admission webhook \"vcaptain-v1.kb.io\" denied the request: it sinks";
    denied(&captain("smith", &json!({"ship": "titanic"})), why);
    let verdict = format!("CREATE  {VALIDATE} -> denied: it sinks, took ");
    shows(&mut dev, &verdict);

    // The operator ends in the middle of a review. From then on nothing waits for it.
    denied(&captain("kraken", &json!({})), "failed calling webhook");
    shows(&mut dev, "ended     the operator ended: exit code 3");
    let down = "webhooks  not called, and objects are stored without review, while the operator is down: \
                mcaptain-v1.kb.io, vcaptain-v1.kb.io";
    let text = shows(&mut dev, down);
    assert_eq!(text.matches("webhooks  called").count(), 1, "{text}");
    // It is restarted, and called again.
    let text = dev.output_until(PATIENCE, |text| {
        text.matches("webhooks  called").count() == 2
    });
    assert_eq!(text.matches("webhooks  called").count(), 2, "{text}");
    denied(&captain("smith", &json!({"ship": "titanic"})), why);
    let (text, status) = dev.signal("INT");
    assert!(status.success(), "{text}");
}

#[test]
fn run_has_the_webhooks_called_until_it_ends() {
    let server = Server::start();
    let folder = Folder::new();
    let captain = |name: &str, spec: &Value| apply(folder.path(), &server.kubeconfig(), name, spec);
    let mut run = kubewright();
    run.args(["run", "--install", "--executable"]);
    run.arg(executable(&folder)).arg("--kubeconfig");
    run.arg(server.kubeconfig());
    let mut run = Process::start(run, None);
    let note = "note: the cluster calls the webhooks of the operator at https://127.0.0.1:";
    shows(&mut run, note);
    denied(&captain("smith", &json!({"ship": "titanic"})), "it sinks");
    let (text, status) = run.signal("INT");
    assert!(status.success(), "{text}");
    // Nothing points to the program that is gone.
    accepted(&captain("smith", &json!({"ship": "titanic"})));

    // The exit code is that of the operator.
    let mut run = kubewright();
    run.args(["run", "--executable"]);
    run.arg(executable(&folder)).arg("--kubeconfig");
    run.arg(server.kubeconfig());
    let mut run = Process::start(run, None);
    shows(&mut run, note);
    denied(&captain("kraken", &json!({})), "failed calling webhook");
    let (text, status) = run.finish();
    assert_eq!(status.code(), Some(3), "{text}");
    accepted(&captain("kraken", &json!({})));
}

#[test]
fn webhooks_that_a_killed_run_left_are_found_and_removed() {
    let server = Server::start();
    let folder = Folder::new();
    let path = executable(&folder);
    let captain = |name: &str| apply(folder.path(), &server.kubeconfig(), name, &json!({}));
    let mut run = kubewright();
    run.args(["run", "--install", "--executable"]).arg(&path);
    run.arg("--kubeconfig").arg(server.kubeconfig());
    let mut run = Process::start(run, None);
    shows(&mut run, "note: the cluster calls the webhooks");
    run.kill();
    denied(&captain("ahab"), "failed calling webhook");
    let (code, said) = doctor(&server);
    assert_eq!(code, Some(1), "{said}");
    let found = "vcaptain-v1.kb.io in crew-operator-local-validating-webhook-configuration is called at 127.0.0.1:";
    assert!(said.contains(found), "{said}");
    assert!(
        said.contains(", where nothing listens, so writes fail"),
        "{said}"
    );

    let mut install = kubewright();
    install.args(["install", "--executable"]).arg(&path);
    install.arg("--kubeconfig").arg(server.kubeconfig());
    let installed = install.output().unwrap();
    accepted(&installed);
    let said = String::from_utf8_lossy(&installed.stderr);
    assert!(
        said.starts_with(
            "note: only CRDs are installed; the webhooks of the operator (mcaptain-v1.kb.io, vcaptain-v1.kb.io) are called"
        ),
        "{said}"
    );
    accepted(&captain("ahab"));
    let (_, said) = doctor(&server);
    assert!(
        said.contains("the cluster calls none of the operator's webhooks"),
        "{said}"
    );
}

/// Runs `doctor` in a project whose operator has been built.
fn doctor(server: &Server) -> (Option<i32>, String) {
    let place = project(MODEL);
    let target = place.path().join("target");
    fs::create_dir_all(target.join("debug")).unwrap();
    let describe = format!("cat <<'E'\n{}\nE", described());
    script(&place, "debug/crew-operator", &describe);
    let metadata = json!({"target_directory": target});
    let cargo = script(&place, "metadata", &format!("echo '{metadata}'"));
    let place = place.with_cargo(cargo);
    let mut doctor = place.command("doctor --kubeconfig");
    let output = doctor.arg(server.kubeconfig()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), said)
}

#[test]
fn a_cluster_that_cannot_call_this_machine_is_reported() {
    let server = Server::start();
    let folder = Folder::new();
    // The same server at an address that is not known to be this machine.
    let text = fs::read_to_string(server.kubeconfig()).unwrap();
    let elsewhere = text.replace(
        "server: \"https://127.0.0.1:",
        "tls-server-name: 127.0.0.1\n    server: \"https://0.0.0.0:",
    );
    assert_ne!(text, elsewhere);
    let kubeconfig = folder.path().join("elsewhere");
    fs::write(&kubeconfig, elsewhere).unwrap();
    let script = executable(&folder);
    let text = fs::read_to_string(&script)
        .unwrap()
        .replace(&operator(), "echo \"called with $*\"");
    fs::write(&script, text).unwrap();
    let mut run = kubewright();
    run.args(["run", "--executable"]).arg(&script);
    run.arg("--kubeconfig").arg(&kubeconfig);
    let output = run.output().unwrap();
    accepted(&output);
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "note: the cluster does not call the webhooks of the operator (mcaptain-v1.kb.io, vcaptain-v1.kb.io): it cannot call this \
         machine: it is not on this machine; objects are stored without review\n"
    );
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!said.contains("--webhook"), "{said}");
}

#[test]
fn the_conversion_goes_back_to_the_deployed_operator() {
    let server = Server::start();
    let folder = Folder::new();
    let path = executable(&folder);
    let name = "captains.crew.example.com";
    let config = || {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        let crd = got(&server.kubeconfig(), &path).unwrap();
        crd["spec"]["conversion"]["webhook"]["clientConfig"].clone()
    };
    let install = || {
        let mut install = kubewright();
        install.args(["install", "--executable"]).arg(&path);
        install.arg("--kubeconfig").arg(server.kubeconfig());
        accepted(&install.output().unwrap());
    };
    let service = json!({"namespace": "crew-system", "name": "crew-webhook-service", "path": "/convert", "port": 443});
    let mut deployed = described();
    deployed["crds"][0]["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"service": service},
    }});
    describe(&folder, &deployed);
    install();
    let mut converting = described();
    converting["conversions"] = json!([name]);
    describe(&folder, &converting);
    install();
    assert_eq!(config()["service"], service);

    let mut run = kubewright();
    run.args(["run", "--executable"]).arg(&path);
    run.arg("--kubeconfig").arg(server.kubeconfig());
    let mut run = Process::start(run, None);
    shows(
        &mut run,
        "vcaptain-v1.kb.io, conversion of captains.crew.example.com\n",
    );
    let url = config()["url"].as_str().unwrap_or_default().to_owned();
    assert!(
        url.starts_with("https://127.0.0.1:") && url.ends_with("/convert"),
        "{url}"
    );
    let (text, status) = run.signal("TERM");
    assert!(status.success(), "{text}");
    assert_eq!(config()["service"], service);
    assert_eq!(config()["url"], Value::Null);
}

/// Applies a captain of the Titanic until the outcome is as wanted: a real server learns of webhooks a little later.
#[track_caller]
fn until_titanic_is(wanted: Option<i32>, folder: &Folder, kubeconfig: &Path) {
    let began = Instant::now();
    loop {
        let output = apply(
            folder.path(),
            kubeconfig,
            "smith",
            &json!({"ship": "titanic"}),
        );
        if output.status.code() == wanted {
            return;
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(began.elapsed() < PATIENCE, "{said}");
    }
}

#[test]
fn run_has_the_webhooks_called_by_a_real_server() {
    let Some(kubeconfig) = std::env::var_os("KUBEWRIGHT_TEST_KUBECONFIG") else {
        return skipped("webhooks called by a real server: set KUBEWRIGHT_TEST_KUBECONFIG");
    };
    let kubeconfig = PathBuf::from(kubeconfig);
    let folder = Folder::new();
    let path = executable(&folder);
    let mut run = kubewright();
    run.args(["run", "--install", "--executable"]).arg(&path);
    run.arg("--kubeconfig").arg(&kubeconfig);
    let mut run = Process::start(run, None);
    shows(
        &mut run,
        "note: the cluster calls the webhooks of the operator at",
    );
    until_titanic_is(Some(2), &folder, &kubeconfig);
    let said = apply(
        folder.path(),
        &kubeconfig,
        "smith",
        &json!({"ship": "titanic"}),
    );
    denied(&said, "denied the request: it sinks");
    let (text, status) = run.signal("INT");
    assert!(status.success(), "{text}");
    until_titanic_is(Some(0), &folder, &kubeconfig);
    let mut uninstall = kubewright();
    uninstall.args(["uninstall", "--executable"]).arg(&path);
    uninstall.arg("--kubeconfig").arg(&kubeconfig);
    accepted(&uninstall.output().unwrap());
}

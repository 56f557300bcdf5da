//! `kubewright up`: start, authentication and shutdown.

use std::{
    fs,
    io::Read,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    https,
    kubectl::kubectl,
    process::{PATIENCE, Process},
    server::{Folder, Server, kubewright},
};

#[test]
fn up_says_in_one_line_that_it_is_ready_and_where() {
    let server = Server::start_with(&["--controllers", "none", "--no-console"]);
    let ready = server.ready_line().to_owned();
    let kubeconfig = server.kubeconfig();
    assert!(
        ready.contains(&format!("kubectl --kubeconfig {}", kubeconfig.display())),
        "{ready}"
    );
    assert_eq!(
        server.kubeconfig_value("server"),
        format!("https://{}", server.address())
    );
    answers(&server);
    let (output, _) = server.signal("TERM");
    assert_eq!(output, format!("{ready}\nkubewright has stopped\n"));
}

#[cfg(unix)]
#[test]
fn the_kubeconfig_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start();
    let mode = fs::metadata(server.kubeconfig())
        .expect("a kubeconfig")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_token_of_the_kubeconfig_opens_the_server() {
    let server = Server::start();
    let token = server.kubeconfig_value("token");
    let (code, body) = https::get(&server, "/api/v1/namespaces/default", Some(&token));
    assert_eq!(code, 200, "{body}");
    assert!(body.contains(r#""kind":"Namespace""#), "{body}");
}

#[test]
fn admission_policies_are_enforced_from_the_next_request_on() {
    let server = Server::start();
    let token = server.kubeconfig_value("token");
    let policy = r#"{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "owners"}, "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": ["configmaps"]}]},
            "validations": [{"expression": "has(object.data)", "message": "data is required"}]}}"#;
    let binding = r#"{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "owners"}, "spec": {"policyName": "owners", "validationActions": ["Deny"]}}"#;
    let map = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "colours"}}"#;
    let group = "/apis/admissionregistration.k8s.io/v1";
    for (path, object, expected) in [
        (format!("{group}/validatingadmissionpolicies"), policy, 201),
        (
            format!("{group}/validatingadmissionpolicybindings"),
            binding,
            201,
        ),
        ("/api/v1/namespaces/default/configmaps".to_owned(), map, 422),
    ] {
        let (code, answer) = https::post(&server, &path, &token, object);
        assert_eq!(code, expected, "{path}: {answer}");
    }
}

/// A schedule of every minute: at this rate, a minute takes a second.
#[test]
fn time_can_run_faster_than_that_of_the_machine() {
    let server = Server::start_with(&["--clock-rate", "60", "--no-console"]);
    let token = server.kubeconfig_value("token");
    let job = r#"{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "often"}, "spec": {
        "schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["true"]}]}}}}}}"#;
    let (code, answer) = https::post(
        &server,
        "/apis/batch/v1/namespaces/default/cronjobs",
        &token,
        job,
    );
    assert_eq!(code, 201, "{answer}");
    let began = Instant::now();
    let succeeded = |list: &str| list.matches("\"succeeded\":1").count();
    let jobs = loop {
        let (_, jobs) = https::get(
            &server,
            "/apis/batch/v1/namespaces/default/jobs",
            Some(&token),
        );
        if succeeded(&jobs) >= 2 || began.elapsed() > PATIENCE {
            break jobs;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(succeeded(&jobs) >= 2, "{jobs}");
}

#[test]
fn requests_without_a_token_are_rejected() {
    let server = Server::start();
    let (code, body) = https::get(&server, "/api/v1/namespaces", Some("guess"));
    assert_eq!(code, 401, "{body}");
    let status: serde_json::Value = serde_json::from_str(&body).expect("a status");
    let expected = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "Unauthorized", "reason": "Unauthorized", "code": 401,
    });
    assert_eq!(status, expected);
    let (code, body) = https::get(&server, "/api/v1/namespaces", None);
    assert_eq!(code, 403, "{body}");
    let message = r#"User \"system:anonymous\" cannot list resource \"namespaces\""#;
    assert!(body.contains(message), "{body}");
}

#[test]
fn everybody_may_ask_for_the_health_and_the_version_of_the_server() {
    let server = Server::start();
    for path in ["/livez", "/readyz", "/version"] {
        let (code, body) = https::get(&server, path, None);
        assert_eq!(code, 200, "{path}: {body}");
    }
    assert_eq!(https::get(&server, "/metrics", None).0, 403);
}

#[test]
fn users_may_do_what_roles_grant_and_everything_if_everything_is_allowed() {
    let folder = Folder::new();
    let file = folder.path().join("tokens.csv");
    let tokens = "first,ada,1,\"system:masters\"\nsecond,bob,2\n";
    fs::write(&file, tokens).expect("a file");
    let file = file.display().to_string();
    for (mode, pods, health) in [
        ("RBAC", 403, 200),
        ("RBAC,AlwaysDeny", 403, 200),
        ("AlwaysDeny", 403, 403),
        ("AlwaysAllow", 200, 401),
    ] {
        let server =
            Server::start_with(&["--token-auth-file", &file, "--authorization-mode", mode]);
        let (code, body) = https::get(&server, "/api/v1/pods", Some("second"));
        assert_eq!(code, pods, "{mode}: {body}");
        assert_eq!(https::get(&server, "/api/v1/pods", Some("first")).0, 200);
        assert_eq!(https::get(&server, "/livez", None).0, health, "{mode}");
    }
}

#[test]
fn a_mode_that_is_unknown_or_named_twice_is_refused() {
    let output = fails(&[
        "--listen",
        "127.0.0.1:0",
        "--authorization-mode",
        "RBAC,RBAC",
    ]);
    assert!(output.contains("more than once"), "{output}");
    let mut command = kubewright();
    command.args(["up", "--authorization-mode", "Nobody"]);
    let (output, status) = Process::start(command, None).finish();
    assert_eq!(status.code(), Some(2), "{output}");
    let expected =
        "unknown authorization mode \"Nobody\": expected RBAC, Node, AlwaysAllow or AlwaysDeny";
    assert!(output.contains(expected), "{output}");
}

#[test]
fn tokens_can_come_from_a_file() {
    let folder = Folder::new();
    let file = folder.path().join("tokens.csv");
    fs::write(
        &file,
        "first,ada,1,\"system:masters\"\nsecond,bob,2,\"system:masters,dev\"\n",
    )
    .expect("a file");
    let server = Server::start_with(&["--token-auth-file", &file.display().to_string()]);
    assert_eq!(server.kubeconfig_value("token"), "first");
    for (token, expected) in [
        (Some("first"), 200),
        (Some("second"), 200),
        (Some("third"), 401),
        (None, 403),
    ] {
        let (code, body) = https::get(&server, "/api/v1/namespaces", token);
        assert_eq!(code, expected, "{token:?}: {body}");
    }
}

#[test]
fn kubectl_acts_as_the_users_of_further_contexts() {
    let Some(kubectl) = kubectl() else {
        return;
    };
    let account = "system:serviceaccount:shop:web";
    let server = Server::start_with(&["--as", "alice=dev,ops", "--as", account]);
    for (user, group) in [("alice", "ops"), (account, "system:serviceaccounts:shop")] {
        let output = Command::new(kubectl)
            .arg("--kubeconfig")
            .arg(server.kubeconfig())
            .args(["--context", user, "auth", "whoami", "-o", "json"])
            .output()
            .expect("kubectl runs");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let known = &answer["status"]["userInfo"];
        assert_eq!(known["username"], user, "{output:?}");
        let groups = known["groups"].as_array().expect("groups");
        assert!(groups.iter().any(|known| known == group), "{groups:?}");
    }
}

#[test]
fn a_missing_token_file_is_named() {
    let output = fails(&[
        "--listen",
        "127.0.0.1:0",
        "--token-auth-file",
        "no-such-file.csv",
    ]);
    assert!(
        output.contains("cannot read the token file no-such-file.csv"),
        "{output}"
    );
}

#[test]
fn requests_are_written_to_the_audit_log_with_the_address_of_the_client() {
    let folder = Folder::new();
    let (policy, log) = (
        folder.path().join("policy.yaml"),
        folder.path().join("audit.jsonl"),
    );
    let rules = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Request}]\n";
    fs::write(&policy, rules).expect("a file");
    let server = Server::start_with(&[
        "--controllers=none",
        "--audit-policy-file",
        &policy.display().to_string(),
        "--audit-log-path",
        &log.display().to_string(),
    ]);
    let token = server.kubeconfig_value("token");
    let map = r#"{"metadata": {"name": "colours"}, "data": {"sky": "blue"}}"#;
    let (code, head) = https::post(
        &server,
        "/api/v1/namespaces/default/configmaps",
        &token,
        map,
    );
    assert_eq!(code, 201, "{head}");
    server.signal("TERM");
    let written = fs::read_to_string(&log).expect("the log");
    assert!(!written.contains(&token), "{written}");
    let events = written
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"));
    let created: Vec<serde_json::Value> = events
        .filter(|e: &serde_json::Value| e["verb"] == "create")
        .collect();
    assert_eq!(created.len(), 1, "{written}");
    assert_eq!(created[0]["sourceIPs"], serde_json::json!(["127.0.0.1"]));
    assert_eq!(created[0]["requestObject"]["data"]["sky"], "blue");
    assert_eq!(created[0]["responseStatus"]["code"], 201);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&log).expect("the log").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_wrong_audit_policy_is_explained() {
    let folder = Folder::new();
    let policy = folder.path().join("policy.yaml");
    fs::write(
        &policy,
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n",
    )
    .expect("a file");
    let file = policy.display().to_string();
    let output = fails(&[
        "--listen=127.0.0.1:0",
        "--audit-log-path=-",
        "--audit-policy-file",
        &file,
    ]);
    let problem = "loading audit policy file: rules[0].level: Unsupported value: \"All\": supported values: \"None\"";
    assert!(output.contains(problem), "{output}");
    assert!(output.contains(&format!("from file {file}")), "{output}");
}

#[cfg(unix)]
#[test]
fn open_watches_end_cleanly_and_at_once_when_the_server_is_stopped() {
    let server = Server::start();
    let token = server.kubeconfig_value("token");
    let path = "/api/v1/namespaces?watch=true";
    let mut watch = https::open(&server, path, "HTTP/1.1", Some(&token));
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while !text.contains("kube-system") {
        let n = watch.read(&mut buffer).expect("an event");
        assert_ne!(n, 0, "the watch ended: {text}");
        text += &String::from_utf8_lossy(&buffer[..n]);
    }
    let stopped = Instant::now();
    let (output, status) = server.signal("TERM");
    assert_eq!(status.code(), Some(0), "{output}");
    assert!(stopped.elapsed() < Duration::from_secs(5), "{output}");
    let mut rest = Vec::new();
    watch.read_to_end(&mut rest).expect("a closing alert");
    text += &String::from_utf8_lossy(&rest);
    assert!(
        text.ends_with("\r\n0\r\n\r\n"),
        "the last chunk is missing: {text}"
    );
}

#[cfg(unix)]
#[test]
fn both_signals_stop_the_server_cleanly() {
    for name in ["INT", "TERM"] {
        let server = Server::start();
        let (output, status) = server.signal(name);
        assert_eq!(status.code(), Some(0), "{name}: {output}");
        assert!(output.ends_with("kubewright has stopped\n"), "{output}");
    }
}

#[test]
fn a_data_directory_that_is_a_file_is_one_sentence() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = fails(&["--listen", "127.0.0.1:0", "--data-dir", file]);
    let expected = format!("error: cannot read STORE in {file}: ");
    assert!(output.starts_with(&expected), "{output}");
}

#[test]
fn a_busy_port_is_a_clear_error() {
    let first = Server::start();
    let output = fails(&["--listen", first.address()]);
    let expected = format!("error: cannot listen on {}: ", first.address());
    assert!(output.starts_with(&expected), "{output}");
    assert!(output.contains("; choose another address"), "{output}");
}

/// Makes sure that the server is past its start.
fn answers(server: &Server) {
    assert_eq!(https::get(server, "/livez", None).0, 200);
}

/// Runs `up` with arguments it cannot start with, and returns what it says.
fn fails(arguments: &[&str]) -> String {
    let folder = Folder::new();
    let mut command = kubewright();
    command.current_dir(folder.path()).arg("up").args(arguments);
    let (output, status) = Process::start(command, None).finish();
    assert_eq!(status.code(), Some(2), "{output}");
    assert!(output.starts_with("error: "), "{output}");
    assert_eq!(output.lines().count(), 1, "{output}");
    assert!(
        !folder.path().join("kubeconfig").exists(),
        "a kubeconfig of a server that is not there"
    );
    output
}

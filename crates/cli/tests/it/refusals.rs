//! Errors of commands that use a cluster or the machine: one sentence that says what is wrong and what to do, exit code 2,
//! no changed files.
#![cfg(unix)]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
};

use kube::config::Kubeconfig;
use serde_json::json;

use crate::{
    generating,
    process::{PATIENCE, Process},
    projects::{Place, files},
    server::Server,
    skipped,
};

/// Returns the files of a project, without those under target.
fn kept(place: &Place) -> Vec<(PathBuf, Vec<u8>)> {
    let target = place.path().join("target");
    let mut all = files(place.path());
    all.retain(|(path, _)| !path.starts_with(&target));
    all
}

/// Returns the error, after checking that nothing changed.
#[track_caller]
fn refused(place: &Place, command: &mut Command) -> String {
    let before = kept(place);
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    assert_eq!(stdout, b"", "nothing was done");
    assert!(kept(place) == before, "files changed");
    assert_eq!(said.lines().count(), 1, "{said}");
    said.trim_end().strip_prefix("error: ").unwrap().to_owned()
}

/// A server that reports its version, and rejects everything else.
struct Forbidding {
    address: String,
}

impl Forbidding {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || Self::answer(stream));
            }
        });
        Self { address }
    }

    fn answer(stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut stream = stream;
        loop {
            let (mut first, mut length) = (String::new(), 0);
            reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).ok()?;
                let line = line.trim().to_ascii_lowercase();
                if let Some(text) = line.strip_prefix("content-length:") {
                    length = text.trim().parse().ok()?;
                }
                if line.is_empty() {
                    break;
                }
            }
            reader
                .by_ref()
                .take(length)
                .read_to_end(&mut Vec::new())
                .ok()?;
            let (status, body) = match first.contains(" /version ") {
                true => (
                    "200 OK",
                    json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3",
                    "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "",
                    "compiler": "", "platform": ""}),
                ),
                false => (
                    "403 Forbidden",
                    json!({"kind": "Status", "apiVersion": "v1", "metadata": {},
                    "status": "Failure", "reason": "Forbidden", "code": 403,
                    "message": "it is forbidden: User \"nobody\" cannot do that"}),
                ),
            };
            let body = body.to_string();
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all((head + &body).as_bytes()).ok()?;
        }
    }

    fn kubeconfig(&self, directory: &Path) -> PathBuf {
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
            "clusters": [{"name": "a", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "a", "user": {}}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]});
        let path = directory.join("forbidding");
        fs::write(&path, config.to_string()).unwrap();
        path
    }
}

/// The commands that use a cluster.
const WITH_A_CLUSTER: [&str; 8] = [
    "install",
    "uninstall",
    "deploy",
    "undeploy",
    "run --install",
    "why configmap/hook",
    "tree configmap/hook",
    "import crd --cluster captains.crew.example.com",
];

#[test]
fn no_permission_is_one_sentence() {
    let place = generating::project(generating::MODEL);
    let server = Forbidding::start();
    let kubeconfig = server.kubeconfig(&place.path().join("target"));
    for line in WITH_A_CLUSTER {
        let mut command = place.command(line);
        command.env("KUBECONFIG", &kubeconfig);
        let sentence = refused(&place, &mut command);
        assert!(
            sentence.contains("it is forbidden: User"),
            "{line}: {sentence}"
        );
        assert!(
            sentence.ends_with("; request the permission, or select another user with --context"),
            "{line}: {sentence}"
        );
    }
}

#[test]
fn no_permission_on_a_real_server_is_one_sentence() {
    let Some(real) = std::env::var_os("KUBEWRIGHT_TEST_KUBECONFIG") else {
        return skipped("no permission on a real server: set KUBEWRIGHT_TEST_KUBECONFIG");
    };
    let place = generating::project(generating::MODEL);
    let mut config = Kubeconfig::read_from(real).unwrap();
    for user in &mut config.auth_infos {
        let user = user.auth_info.get_or_insert_default();
        user.impersonate = Some("nobody@example.com".to_owned());
    }
    let kubeconfig = place.path().join("target/nobody");
    fs::write(&kubeconfig, serde_json::to_string(&config).unwrap()).unwrap();
    for line in WITH_A_CLUSTER {
        let mut command = place.command(line);
        command.env("KUBECONFIG", &kubeconfig);
        let sentence = refused(&place, &mut command);
        println!("{line}: {sentence}");
        assert!(
            sentence.contains("forbidden: User \"nobody@example.com\" cannot"),
            "{line}: {sentence}"
        );
        assert!(
            sentence.ends_with("; request the permission, or select another user with --context"),
            "{line}: {sentence}"
        );
    }
}

#[test]
fn no_cluster_is_one_sentence() {
    let place = generating::project(generating::MODEL);
    for line in WITH_A_CLUSTER {
        let sentence = refused(&place, &mut place.command(line));
        let begins = ["no cluster found: ", "the cluster cannot be reached: "];
        assert!(
            begins.iter().any(|it| sentence.starts_with(it)),
            "{line}: {sentence}"
        );
        assert!(sentence.contains("--context"), "{line}: {sentence}");
    }
}

#[test]
fn without_a_toolchain_the_sentence_says_where_to_get_it() {
    let place = Place::project();
    let server = Server::start();
    for line in [
        "generate",
        "test",
        "install",
        "uninstall",
        "deploy",
        "undeploy",
        "run",
    ] {
        let mut command = place.command(line);
        command
            .env("PATH", "/no/such/directory")
            .env_remove("CARGO")
            .env("KUBECONFIG", server.kubeconfig());
        let sentence = refused(&place, &mut command);
        assert_eq!(
            sentence,
            "cannot run cargo: No such file or directory (os error 2); install Rust with rustup, and check that cargo is in PATH",
            "{line}"
        );
    }
}

#[test]
fn commands_that_only_edit_files_need_no_toolchain() {
    let place = Place::project();
    for line in [
        "create api --group port --version v1 --kind Quay",
        "add controller --for v1/ConfigMap --name map",
        "add version v2 --from v1 --kind Quay",
        "remove api Quay",
        "list",
        "status",
        "edit --namespaced",
        "completion bash",
    ] {
        let mut command = place.command(line);
        command
            .env("PATH", "/no/such/directory")
            .env_remove("CARGO");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {said}");
    }
}

#[test]
fn a_port_that_is_taken_is_one_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let place = Place::project();
    for line in [
        format!("up --listen {address}"),
        format!("dev --port {}", address.port()),
        format!("demo --port {}", address.port()),
    ] {
        let sentence = refused(&place, &mut place.command(&line));
        let begins = format!("cannot listen on {address}: Address already in use");
        assert!(sentence.starts_with(&begins), "{line}: {sentence}");
        assert!(sentence.contains("; choose another"), "{line}: {sentence}");
    }
}

#[test]
fn a_second_dev_in_a_project_is_refused() {
    let place = generating::project(generating::MODEL);
    let mut first = Process::start(place.command("dev -o json"), None);
    first.output_until(PATIENCE, |text| text.contains("\"cluster\""));
    let sentence = refused(&place, &mut place.command("dev"));
    assert!(
        sentence.starts_with("`kubewright dev` is already running in this project; stop it first"),
        "{sentence}"
    );
    let (text, status) = first.signal("INT");
    assert!(status.success(), "{text}");
}

#[test]
fn without_an_installer_deploy_brings_what_generate_would_write() {
    let place = generating::project(generating::MODEL);
    let server = Server::start_with(&[]);
    let before = files(place.path());
    let mut command = place.command("deploy --timeout 100ms");
    command.env("KUBECONFIG", server.kubeconfig());
    // Nothing runs Deployments here.
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("deployment/crew-operator-controller-manager is not ready"),
        "{said}"
    );
    let brought = String::from_utf8(output.stdout).unwrap();
    for object in [
        "namespace/crew-operator-system created",
        "customresourcedefinition/captains.crew.example.com created, established",
        "clusterrole/crew-operator-manager-role created",
    ] {
        assert!(brought.contains(object), "no {object} in {brought}");
    }
    assert_eq!(files(place.path()), before);
    let taken_back = |word: &str| {
        let mut command = place.command(word);
        command.env("KUBECONFIG", server.kubeconfig());
        let process = Process::start(command, None);
        let (text, status) = process.finish();
        assert!(status.success(), "{text}");
        text
    };
    assert!(taken_back("undeploy").contains("namespace/crew-operator-system deleted"));
}

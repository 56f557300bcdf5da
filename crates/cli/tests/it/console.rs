//! The console of `up`, and of a cluster that a kubeconfig leads to.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::{
    process::{PATIENCE, Process},
    server::{Folder, Server, kubewright},
};

/// Returns the URL that a command printed.
pub(crate) fn url(process: &mut Process) -> String {
    let output = process.output_until(PATIENCE, |text| {
        text.split_once("console  ")
            .is_some_and(|(_, rest)| rest.contains('\n'))
    });
    let (_, rest) = output
        .split_once("console  ")
        .unwrap_or_else(|| panic!("no console in {output}"));
    rest.lines().next().unwrap_or_default().to_owned()
}

/// Sends a GET to the console and returns the code and the answer.
fn get(url: &str, path: &str, with_token: bool) -> (u16, String) {
    let (base, token) = url.split_once("/#t=").expect("a token in the fragment");
    let address = base.strip_prefix("http://").expect("plain HTTP");
    let mut stream = TcpStream::connect(address).expect("a connection");
    let authorization = match with_token {
        true => format!("authorization: Bearer {token}\r\n"),
        false => String::new(),
    };
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\n{authorization}connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    (code.expect("a status line"), answer)
}

#[test]
fn up_prints_the_address_of_its_console() {
    let folder = Folder::new();
    let mut command = kubewright();
    command
        .current_dir(folder.path())
        .args(["up", "--listen", "127.0.0.1:0"]);
    let mut process = Process::start(command, None);
    let url = url(&mut process);
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    assert_eq!(get(&url, "/", false).0, 200);
    assert_eq!(get(&url, "/api/v1/namespaces", false).0, 401);
    let (code, answer) = get(&url, "/api/v1/namespaces", true);
    assert_eq!(code, 200, "{answer}");
    assert!(answer.contains("kube-system"), "{answer}");
    let (_, answer) = get(&url, "/kubewright/v1/console/session", true);
    assert!(answer.contains("\"lab\":false"), "{answer}");
    let (_, status) = process.signal("TERM");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn experiments_are_possible_only_with_a_flag() {
    let folder = Folder::new();
    let mut command = kubewright();
    command
        .current_dir(folder.path())
        .args(["up", "--listen", "127.0.0.1:0", "--lab"]);
    let mut process = Process::start(command, None);
    let url = url(&mut process);
    let (code, answer) = get(&url, "/kubewright/v1/console/lab", true);
    assert!(
        code == 200 && answer.contains("\"inMemory\":true"),
        "{answer}"
    );
    assert_eq!(get(&url, "/kubewright/v1/console/lab", false).0, 401);
    let (_, status) = process.signal("TERM");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn the_console_is_exported_to_a_file() {
    let server = Server::start_with(&["--controllers", "none", "--no-console"]);
    let folder = Folder::new();
    let mut command = kubewright();
    command
        .current_dir(folder.path())
        .args(["console", "export", "run.html", "--kubeconfig"])
        .arg(server.kubeconfig());
    let (output, status) = Process::start(command, None).finish();
    assert_eq!(status.code(), Some(0), "{output}");
    assert!(output.starts_with("wrote run.html ("), "{output}");
    let html = std::fs::read_to_string(folder.path().join("run.html")).expect("a file");
    assert!(html.starts_with("<!doctype html>") && html.contains("kube-system"));
}

#[test]
fn a_console_works_on_the_cluster_of_a_kubeconfig() {
    let server = Server::start_with(&["--controllers", "none", "--no-console"]);
    let mut command = kubewright();
    command
        .arg("console")
        .arg("--kubeconfig")
        .arg(server.kubeconfig());
    let mut process = Process::start(command, None);
    let url = url(&mut process);
    let (code, answer) = get(&url, "/api/v1/namespaces", true);
    assert_eq!(code, 200, "{answer}");
    let (code, answer) = get(&url, "/kubewright/v1/console/session", true);
    assert!(
        code == 200 && answer.contains("\"local\":false"),
        "{answer}"
    );
    let (_, status) = process.signal("TERM");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_console_that_others_could_reach_is_refused() {
    let folder = Folder::new();
    let mut command = kubewright();
    command.current_dir(folder.path()).args([
        "up",
        "--listen",
        "127.0.0.1:0",
        "--console",
        "0.0.0.0:0",
    ]);
    let (output, status) = Process::start(command, None).finish();
    assert_eq!(status.code(), Some(2), "{output}");
    assert!(output.contains("is not a loopback address"), "{output}");
}

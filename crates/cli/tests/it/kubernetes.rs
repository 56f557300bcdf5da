//! Real programs of Kubernetes beside ours: etcd and kube-apiserver, if they are installed.

use std::{
    env,
    ffi::OsString,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::skipped;

/// A child process that is killed when this is dropped.
pub(crate) struct Running(Child);

impl Running {
    /// Ends the program cleanly, so that its files have everything.
    pub(crate) fn stop(mut self) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.unwrap().success());
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a program that can be run, or says what is skipped.
pub(crate) fn program(variable: &str, default: &str, test: &str) -> Option<OsString> {
    let program = env::var_os(variable).unwrap_or_else(|| default.into());
    let mut version = Command::new(&program);
    version
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if version.status().is_ok_and(|status| status.success()) {
        return Some(program);
    }
    skipped(&format!(
        "{test}: {default} is not installed; name it by {variable}"
    ));
    None
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Starts an etcd, and returns its URL.
pub(crate) fn etcd(folder: &Path, test: &str) -> Option<(Running, String)> {
    let program = program("KUBEWRIGHT_ETCD", "etcd", test)?;
    let (client, peer) = (free_port(), free_port());
    let url = format!("http://127.0.0.1:{client}");
    let peer = format!("http://127.0.0.1:{peer}");
    let child = Command::new(program)
        .arg("--data-dir")
        .arg(folder.join("etcd"))
        .args(["--unsafe-no-fsync", "--listen-client-urls", &url])
        .args(["--advertise-client-urls", &url])
        .args(["--listen-peer-urls", &peer])
        .args(["--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("default={peer}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let running = Running(child);
    wait("etcd", || {
        std::net::TcpStream::connect(("127.0.0.1", client)).is_ok()
    });
    Some((running, url))
}

/// Waits until something is the case.
pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} does not come");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A real kube-apiserver.
pub(crate) struct KubeApiServer {
    _running: Running,
    url: String,
}

impl KubeApiServer {
    pub(crate) fn start(program: &OsString, folder: &Path, etcd: &str, more: &[&str]) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let private = folder.join("sa.key");
        std::fs::write(&private, key.serialize_pem()).unwrap();
        let public = folder.join("sa.pub");
        std::fs::write(&public, key.public_key_pem()).unwrap();
        let tokens = folder.join("tokens.csv");
        std::fs::write(&tokens, "tok,admin,1,system:masters\n").unwrap();
        let port = free_port().to_string();
        let child = Command::new(program)
            .args(["--etcd-servers", etcd, "--secure-port", &port])
            .args(["--bind-address", "127.0.0.1"])
            .args(["--service-account-issuer", "https://example.org"])
            .args(["--service-cluster-ip-range", "10.96.0.0/12"])
            .args(["--authorization-mode", "RBAC"])
            .arg("--service-account-key-file")
            .arg(&public)
            .arg("--service-account-signing-key-file")
            .arg(&private)
            .arg("--token-auth-file")
            .arg(&tokens)
            .arg("--cert-dir")
            .arg(folder.join("certs"))
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let this = Self {
            _running: Running(child),
            url: format!("https://127.0.0.1:{port}"),
        };
        wait("kube-apiserver", || this.curl(&["/readyz"]) == "ok");
        this
    }

    /// Returns the answer to a request, or nothing.
    pub(crate) fn curl(&self, arguments: &[&str]) -> String {
        let (path, more) = arguments.split_first().unwrap();
        let output = Command::new("curl")
            .args(["-sk", "-H", "Authorization: Bearer tok"])
            .args(more)
            .arg(format!("{}{path}", self.url))
            .output();
        let output = output.map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&output).into_owned()
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        serde_json::from_str(&self.curl(&[path])).unwrap_or_default()
    }

    /// Creates an object, and returns its path and the answer.
    pub(crate) fn post(&self, path: &str, object: &Value) -> (String, Value) {
        let text = object.to_string();
        let json = "Content-Type: application/json";
        let answer = self.curl(&[path, "-H", json, "--data", &text]);
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        let name = answer["metadata"]["name"].as_str();
        let name = name.unwrap_or_else(|| panic!("{path}: {answer}"));
        (format!("{path}/{name}"), answer)
    }
}

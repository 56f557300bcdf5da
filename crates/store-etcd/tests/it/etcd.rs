//! Members of etcd as child processes.

use std::{
    env,
    ffi::OsString,
    io::Write,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use kubewright_store::layout::PlainLayout;
use kubewright_store_etcd::{EtcdStore, Options};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

/// The time limit of a call to the JSON gateway.
const GATEWAY: Duration = Duration::from_secs(8);

/// A member. It is killed when dropped.
pub(crate) struct Etcd {
    args: Vec<String>,
    pub(crate) client: SocketAddr,
    directory: Arc<Directory>,
    child: Option<Child>,
    scheme: &'static str,
}

/// A directory that is removed when dropped.
pub(crate) struct Directory(pub(crate) PathBuf);

/// Returns the program, or prints that the test is skipped.
pub(crate) fn program(test: &str) -> Option<OsString> {
    let program = env::var_os("KUBEWRIGHT_ETCD").unwrap_or_else(|| "etcd".into());
    let mut version = Command::new(&program);
    version
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if version.status().is_ok_and(|status| status.success()) {
        return Some(program);
    }
    // Written directly, since the harness captures the output of passing tests.
    let text = format!("skipped: {test}: etcd is not installed; name it by KUBEWRIGHT_ETCD\n");
    let _ = std::io::stderr().write_all(text.as_bytes());
    None
}

/// Returns an unused prefix.
pub(crate) fn prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("/test-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns an unused address.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

impl Directory {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kubewright-etcd-{}-{number}", std::process::id());
        let path = env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Etcd {
    /// Starts a cluster of one member. Returns `None` if the test is skipped.
    pub(crate) async fn start(test: &str, args: &[&str]) -> Option<Self> {
        let mut etcd = Self::prepared(test, "http", args)?;
        etcd.restart().await;
        Some(etcd)
    }

    /// Returns a member that is not started yet.
    pub(crate) fn prepared(test: &str, scheme: &'static str, args: &[&str]) -> Option<Self> {
        program(test)?;
        let (client, peer) = (free_address(), free_address());
        let own = [
            format!("--listen-client-urls={scheme}://{client}"),
            format!("--advertise-client-urls={scheme}://{client}"),
            format!("--listen-peer-urls=http://{peer}"),
            format!("--initial-advertise-peer-urls=http://{peer}"),
            format!("--initial-cluster=default=http://{peer}"),
        ];
        let args = args.iter().map(|arg| (*arg).to_owned());
        let args = own.into_iter().chain(args).collect();
        let mut etcd = Self::with(client, args);
        etcd.scheme = scheme;
        Some(etcd)
    }

    /// Returns a member with arguments that is not started yet.
    pub(crate) fn with(client: SocketAddr, args: Vec<String>) -> Self {
        Self {
            args,
            client,
            directory: Arc::new(Directory::new()),
            child: None,
            scheme: "http",
        }
    }

    /// Starts three members of a cluster.
    pub(crate) async fn three(test: &str) -> Option<Vec<Self>> {
        program(test)?;
        let peers: Vec<SocketAddr> = (0..3).map(|_| free_address()).collect();
        let all: Vec<String> = (0..3)
            .map(|n| format!("m{n}=http://{}", peers[n]))
            .collect();
        let mut members: Vec<Self> = peers
            .iter()
            .enumerate()
            .map(|(number, peer)| {
                let client = free_address();
                let args = [
                    format!("--name=m{number}"),
                    format!("--listen-client-urls=http://{client}"),
                    format!("--advertise-client-urls=http://{client}"),
                    format!("--listen-peer-urls=http://{peer}"),
                    format!("--initial-advertise-peer-urls=http://{peer}"),
                    format!("--initial-cluster={}", all.join(",")),
                    "--heartbeat-interval=50".to_owned(),
                    "--election-timeout=500".to_owned(),
                ];
                Self::with(client, args.into())
            })
            .collect();
        for member in &mut members {
            member.spawn();
        }
        for member in &members {
            member.listening().await;
        }
        Some(members)
    }

    /// Starts the member with its existing data.
    pub(crate) async fn restart(&mut self) {
        self.spawn();
        self.listening().await;
    }

    pub(crate) fn spawn(&mut self) {
        let program = env::var_os("KUBEWRIGHT_ETCD").unwrap_or_else(|| "etcd".into());
        let log = std::fs::File::create(self.directory.0.join("log")).unwrap();
        let child = Command::new(program)
            .args(&self.args)
            .arg("--data-dir")
            .arg(self.directory.0.join("data"))
            .arg("--unsafe-no-fsync")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.child = Some(child.unwrap());
    }

    /// Waits until the member accepts connections.
    pub(crate) async fn listening(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while tokio::net::TcpStream::connect(self.client).await.is_err() {
            assert!(Instant::now() < deadline, "etcd does not start");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Kills the member. It can be restarted.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops the member cleanly, so that its database is complete.
    pub(crate) fn stop(&mut self) {
        self.signal("-TERM");
        if let Some(mut child) = self.child.take() {
            child.wait().unwrap();
        }
    }

    /// Returns the end of the member's log.
    pub(crate) fn log(&self) -> String {
        let log = std::fs::read_to_string(self.directory.0.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Returns the path of the database.
    pub(crate) fn database(&self) -> PathBuf {
        self.directory.0.join("data/member/snap/db")
    }

    /// Stops or continues the process.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.as_ref().unwrap().id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.client)
    }

    /// Calls the JSON gateway of the member, like a command of etcdctl. Returns the body of the response, which has a code if
    /// it is an error.
    pub(crate) async fn gateway(&self, path: &str, body: &str) -> serde_json::Value {
        let answer = timeout(GATEWAY, self.asked(path, body)).await;
        // Calls may be lost during an election.
        answer.unwrap_or_else(|_| serde_json::json!({"code": 4, "message": "no answer"}))
    }

    async fn asked(&self, path: &str, body: &str) -> serde_json::Value {
        let mut stream = TcpStream::connect(self.client).await.unwrap();
        let length = body.len();
        let request = format!(
            "POST /v3/{path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}",
            self.client
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let start = answer.find('{').expect("a JSON answer");
        let end = answer.rfind('}').expect("a JSON answer");
        serde_json::from_str(&answer[start..=end]).unwrap()
    }

    /// Returns options with an unused prefix.
    pub(crate) fn options(&self) -> Options {
        Options {
            prefix: prefix(),
            compaction_interval: None,
            ..Options::new([self.url()])
        }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Opens a store with the plain layout.
pub(crate) async fn open(options: &Options) -> EtcdStore {
    EtcdStore::connect(options, Arc::new(PlainLayout))
        .await
        .unwrap()
}

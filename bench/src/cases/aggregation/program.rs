//! The processes of the contestants.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};

use crate::{
    cases::{Bench, try_ask},
    endpoint::Endpoint,
    requests::Template,
    roles::{self, aggregation::Addresses},
    server::{PeerPrograms, free_ports},
};

/// The time limit for a server to become ready.
const PATIENCE: Duration = Duration::from_secs(120);
/// The interval between two attempts.
const LOOK: Duration = Duration::from_millis(20);

/// A process that is ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ours: a cluster and an extension server.
pub(super) struct Extension {
    /// The cluster.
    pub(super) cluster: Endpoint,
    /// The extension server.
    pub(super) direct: Endpoint,
    kubeconfig: String,
    _process: Running,
}

impl Extension {
    pub(super) fn start(objects: u64) -> anyhow::Result<Self> {
        let mut command = roles::command("aggregation", &objects.to_string())?;
        // It ends when its input is closed, and so with this process in any case.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Running(command.spawn().context("cannot start the servers")?);
        let output = process.0.stdout.take().context("they have no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let addresses: Addresses =
            serde_json::from_str(&line).context("the servers did not start")?;
        let mut cluster = Endpoint::from_kubeconfig(&addresses.cluster)?;
        cluster.pids = vec![process.0.id()];
        let mut direct = endpoint(&addresses.direct, &cluster.token)?;
        direct.pids = cluster.pids.clone();
        Ok(Self {
            cluster,
            direct,
            kubeconfig: addresses.cluster,
            _process: process,
        })
    }
}

/// Returns a server whose certificate is not checked.
fn endpoint(address: &str, token: &str) -> anyhow::Result<Endpoint> {
    Endpoint::from_kubeconfig(&format!(
        "current-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
         users: [{{name: a, user: {{token: '{token}'}}}}]\n\
         clusters: [{{name: a, cluster: {{server: 'https://{address}', insecure-skip-tls-verify: true}}}}]\n"
    ))
}

/// Waits until a server answers a path with 200.
pub(super) async fn wait(endpoint: &Endpoint, path: &str) -> anyhow::Result<()> {
    let began = Instant::now();
    let request = Template::new(endpoint, "GET", path, "");
    loop {
        if matches!(try_ask(endpoint, &request).await, Ok((200, _))) {
            return Ok(());
        }
        ensure!(began.elapsed() < PATIENCE, "{path} is not served");
        tokio::time::sleep(LOOK).await;
    }
}

/// The programs of upstream's sample-apiserver.
pub(super) struct SampleApiserver {
    program: PathBuf,
    etcd: PathBuf,
}

/// The sample-apiserver with its etcd. Its users are those of a cluster of ours.
pub(super) struct RunningSample {
    pub(super) endpoint: Endpoint,
    _processes: [Running; 2],
    _cluster: Extension,
    _folder: Folder,
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // The files are in the temporary directory, where nobody misses them.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl SampleApiserver {
    /// Builds the program, or returns the reason why it cannot run.
    pub(super) fn program(bench: &Bench) -> Result<Self, String> {
        let Some(PeerPrograms { etcd, .. }) = &bench.apiserver else {
            return Err("no etcd was given".to_owned());
        };
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/aggregated");
        let program = env::temp_dir().join("kubewright-bench-sample-apiserver");
        let mut command = Command::new("go");
        command
            .args(["build", "-buildvcs=false", "-o"])
            .arg(&program);
        command.arg("k8s.io/sample-apiserver").current_dir(module);
        let built = command.output().map_err(|e| format!("Go is absent: {e}"))?;
        if !built.status.success() {
            let errors = String::from_utf8_lossy(&built.stderr).into_owned();
            return Err(format!("sample-apiserver cannot be built: {errors}"));
        }
        let etcd = etcd.clone();
        Ok(Self { program, etcd })
    }

    pub(super) async fn start(&self) -> anyhow::Result<RunningSample> {
        let cluster = Extension::start(1)?;
        let name = format!("kubewright-bench-sample-{}", std::process::id());
        let folder = Folder(env::temp_dir().join(name));
        fs::create_dir_all(&folder.0)?;
        let kubeconfig = folder.0.join("kubeconfig").display().to_string();
        fs::write(&kubeconfig, &cluster.kubeconfig)?;
        let [client, peer, port] = free_ports()?;
        let (clients, peers) = (
            format!("http://127.0.0.1:{client}"),
            format!("http://127.0.0.1:{peer}"),
        );
        let etcd = folder.run(
            &self.etcd,
            &[
                "--data-dir=etcd",
                "--unsafe-no-fsync",
                &format!("--listen-client-urls={clients}"),
                &format!("--advertise-client-urls={clients}"),
                &format!("--listen-peer-urls={peers}"),
                &format!("--initial-advertise-peer-urls={peers}"),
                &format!("--initial-cluster=default={peers}"),
            ],
        )?;
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", client)).is_err() {
            ensure!(began.elapsed() < PATIENCE, "etcd did not become ready");
            tokio::time::sleep(LOOK).await;
        }
        let server = folder.run(
            &self.program,
            &[
                "--bind-address=127.0.0.1",
                &format!("--secure-port={port}"),
                &format!("--etcd-servers={clients}"),
                &format!("--kubeconfig={kubeconfig}"),
                &format!("--authentication-kubeconfig={kubeconfig}"),
                &format!("--authorization-kubeconfig={kubeconfig}"),
                "--cert-dir=certificates",
            ],
        )?;
        let mut endpoint = endpoint(&format!("127.0.0.1:{port}"), &cluster.cluster.token)?;
        endpoint.pids = vec![server.0.id(), etcd.0.id()];
        Ok(RunningSample {
            endpoint,
            _processes: [server, etcd],
            _cluster: cluster,
            _folder: folder,
        })
    }
}

impl Folder {
    fn run(&self, program: &Path, arguments: &[&str]) -> anyhow::Result<Running> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.0);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(Stdio::null()).spawn();
        let name = program.display();
        Ok(Running(
            child.with_context(|| format!("cannot run {name}"))?,
        ))
    }
}

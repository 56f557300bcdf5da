//! API servers that the benchmark starts: ours and, if its programs are given, kube-apiserver with etcd. Each is new,
//! on its own ports, and stopped when it is dropped.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};

use crate::{cases, endpoint::Endpoint, requests::Template};

/// The time limit for a server to become ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval between two readiness checks of kube-apiserver.
const LOOK: Duration = Duration::from_millis(5);

/// The programs of the peer.
#[derive(Clone)]
pub(crate) struct PeerPrograms {
    pub(crate) apiserver: PathBuf,
    pub(crate) etcd: PathBuf,
}

/// A running server.
pub(crate) struct Server {
    children: Vec<Child>,
    /// The directory of its files.
    folder: PathBuf,
    /// The endpoint.
    pub(crate) endpoint: Endpoint,
    /// The time from before the first process was started until the server was ready.
    pub(crate) ready_after: Duration,
}

/// Returns the `kubewright` that was built into the same directory as this program.
pub(crate) fn beside_this_program() -> anyhow::Result<PathBuf> {
    let path = env::current_exe()?.with_file_name("kubewright");
    ensure!(
        path.exists(),
        "no kubewright next to this program; build it with cargo build --profile dist -p kubewright-cli, or set --server"
    );
    Ok(path)
}

/// Processes to stop and files to remove, unless a [`Server`] takes them.
struct Begun {
    children: Vec<Child>,
    folder: PathBuf,
}

impl Server {
    /// Starts ours and waits until it reports that it is ready.
    pub(crate) fn ours(program: &Path) -> anyhow::Result<Self> {
        Self::ours_with(program, &[])
    }

    /// Starts ours with further arguments.
    pub(crate) fn ours_with(program: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        Self::ours_in(Begun::new()?, program, arguments)
    }

    /// Starts ours with all controllers, the scheduler and simulated nodes.
    pub(crate) fn ours_with_nodes(program: &Path, nodes: usize) -> anyhow::Result<Self> {
        let nodes = nodes.to_string();
        Self::started(
            Begun::new()?,
            program,
            &["--profile", "full", "--nodes", &nodes],
        )
    }

    /// Starts ours with a data directory.
    /// With a latency in milliseconds, every sync takes so much longer.
    pub(crate) fn ours_on_disk(program: &Path, latency: Option<f64>) -> anyhow::Result<Self> {
        let begun = Begun::new()?;
        let data = begun.folder.join("data").display().to_string();
        let latency = latency.map(|latency| latency.to_string());
        let mut arguments = vec!["--data-dir", &data];
        if let Some(latency) = &latency {
            arguments.extend(["--added-sync-latency", latency]);
        }
        Self::ours_in(begun, program, &arguments)
    }

    /// Starts an etcd that does not wait for the disk, and ours on it.
    pub(crate) fn ours_in_etcd(program: &Path, programs: &PeerPrograms) -> anyhow::Result<Self> {
        let mut begun = Begun::new()?;
        let [client, peer, _] = free_ports()?;
        let (mut etcd, clients) = etcd(&begun, programs, &["--unsafe-no-fsync"], [client, peer]);
        begun.spawn(&mut etcd)?;
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", client)).is_err() {
            ensure!(began.elapsed() < PATIENCE, "etcd did not become ready");
            thread::sleep(LOOK);
        }
        Self::ours_in(begun, program, &["--etcd-servers", &clients])
    }

    /// Starts the API server alone, like its peer: no built-in controllers.
    fn ours_in(begun: Begun, program: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let alone = ["--controllers", "none"];
        let arguments: Vec<&str> = alone.iter().chain(arguments).copied().collect();
        Self::started(begun, program, &arguments)
    }

    fn started(mut begun: Begun, program: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let kubeconfig = begun.folder.join("kubeconfig");
        let mut command = Command::new(program);
        command
            .args(["up", "--listen", "127.0.0.1:0", "--kubeconfig"])
            .arg(&kubeconfig)
            .args(arguments)
            .stdout(Stdio::piped());
        let began = Instant::now();
        let out = begun.spawn(&mut command)?.stdout.take();
        let line = first_line(out.context("the server has no output")?)?;
        let ready_after = began.elapsed();
        ensure!(
            line.contains("is ready"),
            "the server did not become ready: {line:?}"
        );
        begun.ready(&fs::read_to_string(&kubeconfig)?, ready_after)
    }

    /// Starts etcd and kube-apiserver and waits until `/readyz` returns 200.
    pub(crate) fn peer(programs: &PeerPrograms) -> anyhow::Result<Self> {
        // Durability is not needed; waiting for the disk would only make the peer slower.
        Self::peer_in(Begun::new()?, programs, &["--unsafe-no-fsync"])
    }

    /// Starts ours as the programs of envtest, with the flags that the peer is started with.
    pub(crate) fn envtest(program: &Path) -> anyhow::Result<Self> {
        let begun = Begun::new()?;
        let assets = begun.folder.join("assets");
        let mut command = Command::new(program);
        let status = command
            .args(["envtest", "--dir"])
            .arg(&assets)
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "kubewright envtest failed: {status}");
        let programs = PeerPrograms {
            apiserver: assets.join("kube-apiserver"),
            etcd: assets.join("etcd"),
        };
        Self::peer_in(begun, &programs, &["--unsafe-no-fsync"])
    }

    /// Starts kube-apiserver with an etcd that syncs what it acknowledges.
    pub(crate) fn peer_on_disk(programs: &PeerPrograms) -> anyhow::Result<Self> {
        Self::peer_in(Begun::new()?, programs, &[])
    }

    fn peer_in(
        mut begun: Begun,
        programs: &PeerPrograms,
        of_etcd: &[&str],
    ) -> anyhow::Result<Self> {
        let [secure, client, peer] = free_ports()?;
        let file = |name: &str| begun.folder.join(name).display().to_string();
        fs::write(file("tokens.csv"), "bench,admin,admin,\"system:masters\"\n")?;
        let key = rcgen::KeyPair::generate()?;
        fs::write(file("key.pem"), key.serialize_pem())?;
        fs::write(file("key.pub"), key.public_key_pem())?;
        let (mut etcd, clients) = etcd(&begun, programs, of_etcd, [client, peer]);
        let mut apiserver = Command::new(&programs.apiserver);
        apiserver
            .args(["--bind-address=127.0.0.1", "--authorization-mode=RBAC"])
            .args(["--disable-admission-plugins=ServiceAccount"])
            .args(["--service-account-issuer=https://kubernetes.default.svc"])
            .args(["--service-cluster-ip-range=10.0.0.0/24"])
            .arg(format!("--etcd-servers={clients}"))
            .arg(format!("--secure-port={secure}"))
            .arg(format!("--cert-dir={}", file("certs")))
            .arg(format!("--token-auth-file={}", file("tokens.csv")))
            .arg(format!("--service-account-key-file={}", file("key.pub")))
            .arg(format!(
                "--service-account-signing-key-file={}",
                file("key.pem")
            ));
        let kubeconfig = format!(
            "current-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
             users: [{{name: a, user: {{token: bench}}}}]\n\
             clusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:{secure}', insecure-skip-tls-verify: true}}}}]\n"
        );
        let endpoint = Endpoint::from_kubeconfig(&kubeconfig)?;
        let began = Instant::now();
        begun.spawn(&mut etcd)?;
        begun.spawn(apiserver.stdout(Stdio::null()).stderr(Stdio::null()))?;
        while !is_ready(&endpoint) {
            for child in &mut begun.children {
                if let Some(status) = child.try_wait()? {
                    bail!("the peer ended before it was ready: {status}");
                }
            }
            ensure!(began.elapsed() < PATIENCE, "the peer did not become ready");
            thread::sleep(LOOK);
        }
        begun.ready(&kubeconfig, began.elapsed())
    }
}

/// Returns the command of an etcd on two ports, for clients and for peers, and its URL.
fn etcd(
    begun: &Begun,
    programs: &PeerPrograms,
    more: &[&str],
    [client, peer]: [u16; 2],
) -> (Command, String) {
    let clients = format!("http://127.0.0.1:{client}");
    let peers = format!("http://127.0.0.1:{peer}");
    let data = begun.folder.join("etcd").display().to_string();
    let mut etcd = Command::new(&programs.etcd);
    etcd.args(["--name=bench", "--log-level=error"])
        .args(more)
        .arg(format!("--data-dir={data}"))
        .arg(format!("--listen-client-urls={clients}"))
        .arg(format!("--advertise-client-urls={clients}"))
        .arg(format!("--listen-peer-urls={peers}"))
        .arg(format!("--initial-advertise-peer-urls={peers}"))
        .arg(format!("--initial-cluster=bench={peers}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    (etcd, clients)
}

impl Server {
    /// Returns the kubeconfig of ours. The peer has none: it is only called by loads.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }
}

impl Begun {
    fn new() -> anyhow::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kubewright-bench-{}-{count}", std::process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir_all(&folder)?;
        Ok(Self {
            children: Vec::new(),
            folder,
        })
    }

    fn spawn(&mut self, command: &mut Command) -> anyhow::Result<&mut Child> {
        let child = command.stdin(Stdio::null()).spawn();
        let name = Path::new(command.get_program()).file_name();
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        self.children
            .push(child.with_context(|| format!("cannot run {name}"))?);
        self.children.last_mut().context("a process was made")
    }

    fn ready(mut self, kubeconfig: &str, ready_after: Duration) -> anyhow::Result<Server> {
        let mut endpoint = Endpoint::from_kubeconfig(kubeconfig)?;
        endpoint.pids = self.children.iter().map(Child::id).collect();
        Ok(Server {
            children: std::mem::take(&mut self.children),
            folder: std::mem::take(&mut self.folder),
            endpoint,
            ready_after,
        })
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        stop(&mut self.children, &self.folder);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        stop(&mut self.children, &self.folder);
    }
}

fn stop(children: &mut [Child], folder: &Path) {
    // The processes and files may be gone already. The last process depends on the others.
    for child in children.iter_mut().rev() {
        let _ = child.kill();
        let _ = child.wait();
    }
    if !folder.as_os_str().is_empty() {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Returns the first line of an output, within a time limit.
fn first_line(out: impl std::io::Read + Send + 'static) -> anyhow::Result<String> {
    let (sender, line) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(out).read_line(&mut line);
        // The receiver is gone if the line comes too late.
        let _ = sender.send(read.map(|_| line));
    });
    let line = line.recv_timeout(PATIENCE);
    Ok(line.context("the server did not become ready in time")??)
}

fn is_ready(endpoint: &Endpoint) -> bool {
    let request = Template::new(endpoint, "GET", "/readyz", "");
    cases::on_one_thread(async {
        let ask = cases::ask(endpoint, &request, 200);
        tokio::time::timeout(Duration::from_secs(5), ask)
            .await
            .is_ok_and(|answer| answer.is_ok())
    })
}

/// Returns ports that are free at the moment.
pub(crate) fn free_ports<const N: usize>() -> anyhow::Result<[u16; N]> {
    // All are held until all are known, so that they differ.
    let held = [0; N].map(|_| TcpListener::bind("127.0.0.1:0"));
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(held) {
        *port = listener?.local_addr()?.port();
    }
    Ok(ports)
}

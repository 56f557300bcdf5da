//! Kubernetes' own controller manager and scheduler, if they are installed.
//!
//! `KUBEWRIGHT_KUBE_CONTROLLER_MANAGER` and `KUBEWRIGHT_KUBE_SCHEDULER` name the programs.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use kubewright_cluster::{Cluster, ClusterBuilder, Nodes};
use kubewright_nodes::{Heartbeats, NodeShape};

/// A cluster of ours with simulated nodes, whose controllers and scheduler are Kubernetes' own.
pub(crate) struct WithRealManagers {
    pub(crate) cluster: Cluster,
    _programs: [Program; 2],
    _folder: Folder,
}

impl WithRealManagers {
    /// Starts the programs, or says what is skipped.
    pub(crate) async fn start(test: &str, builder: ClusterBuilder) -> Option<Self> {
        let [manager, scheduler] = programs(test)?;
        let shapes = ["node-1", "node-2"].map(NodeShape::new);
        let nodes = Nodes::with(Heartbeats::Real, shapes);
        let started = builder
            .nodes(nodes)
            .scheduler(None)
            .listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .start();
        let cluster = started.await.unwrap();
        let folder = Folder::new();
        let kubeconfig = folder.0.join("kubeconfig");
        let endpoint = cluster.endpoint().unwrap();
        endpoint.write_kubeconfig(&kubeconfig).unwrap();
        let programs = [(manager, "controller-manager"), (scheduler, "scheduler")];
        let programs = programs.map(|(program, name)| {
            let log = folder.0.join(format!("{name}.log"));
            Program::start(&program, &kubeconfig, &log)
        });
        Some(Self {
            cluster,
            _programs: programs,
            _folder: folder,
        })
    }
}

/// Returns the programs, or says what is skipped.
pub(crate) fn programs(test: &str) -> Option<[OsString; 2]> {
    let named = |variable: &str| {
        let program = env::var_os(variable);
        if program.is_none() {
            println!("skipped: {test}: {variable} does not name the program");
        }
        program
    };
    let manager = named("KUBEWRIGHT_KUBE_CONTROLLER_MANAGER")?;
    Some([manager, named("KUBEWRIGHT_KUBE_SCHEDULER")?])
}

/// A program that ends with its owner.
struct Program(Child);

impl Program {
    fn start(program: &OsString, kubeconfig: &Path, log: &Path) -> Self {
        let child = Command::new(program)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["--leader-elect=false", "--secure-port=0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(log).unwrap())
            .spawn();
        Self(child.unwrap_or_else(|error| panic!("{}: {error}", program.display())))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder that goes away with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("managers-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

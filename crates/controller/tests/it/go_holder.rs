//! Elections with a candidate written in Go on client-go, over a real connection and in real time.
//!
//! Needs a Go toolchain that can build `bench/peers/go/leaderelection`; without one the test says so and does nothing.

use std::{path::Path, process::Stdio, time::Duration};

use kubewright_controller::leader_election::{ElectionConfig, LeaderElector, Outcome};
use kubewright_testing::TestCluster;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::{Instant, timeout},
};

use crate::link::{Candidate, spec};

const PATIENCE: Duration = Duration::from_secs(60);

/// Short enough for a test, long enough for a busy machine.
const LEASE: Duration = Duration::from_secs(6);
const RENEW: Duration = Duration::from_secs(4);
const RETRY: Duration = Duration::from_secs(1);

struct GoCandidate {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

/// The program, built. Nothing where there is no Go.
async fn program(to: &Path) -> Option<std::path::PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/peers/go/leaderelection");
    let binary = to.join("leaderelection");
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&binary)
        .arg(".")
        .current_dir(source)
        .output()
        .await;
    match built {
        Ok(built) if built.status.success() => Some(binary),
        Ok(built) => {
            let why = String::from_utf8_lossy(&built.stderr);
            eprintln!("skipped: the Go candidate cannot be built here: {why}");
            None
        }
        Err(why) => {
            eprintln!("skipped: there is no Go toolchain here: {why}");
            None
        }
    }
}

impl GoCandidate {
    fn start(program: &Path, kubeconfig: &Path) -> Self {
        let seconds = |duration: Duration| format!("{}s", duration.as_secs());
        let mut child = Command::new(program)
            .arg("-kubeconfig")
            .arg(kubeconfig)
            .args(["-name", "shop", "-identity", "go"])
            .args(["-lease", &seconds(LEASE), "-renew", &seconds(RENEW)])
            .args(["-retry", &seconds(RETRY)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            input: child.stdin.take(),
            child,
            lines,
        }
    }

    async fn says(&mut self, wanted: &str) {
        let said = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                if line == wanted {
                    return;
                }
            }
            panic!("it ended without saying {wanted:?}");
        };
        timeout(PATIENCE, said).await.unwrap();
    }

    /// Asks it to give the lease back, and waits for its end.
    async fn stop(mut self) {
        self.input.take();
        self.child.wait().await.unwrap();
    }
}

fn ours(cluster: &TestCluster) -> Candidate {
    let config = ElectionConfig::new("shop", "default")
        .identity("ours")
        .times(LEASE, RENEW, RETRY);
    let elector = LeaderElector::new(cluster.client(), config).unwrap();
    Candidate::start(elector, Duration::ZERO)
}

#[tokio::test(flavor = "multi_thread")]
async fn we_and_a_go_candidate_lead_in_turns() {
    let directory = std::env::temp_dir().join(format!("kubewright-go-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let Some(program) = program(&directory).await else {
        std::fs::remove_dir_all(&directory).unwrap();
        return;
    };
    let cluster = TestCluster::start().await;
    let endpoint = cluster.listen().await.unwrap();
    let kubeconfig = directory.join("kubeconfig");
    std::fs::write(&kubeconfig, endpoint.kubeconfig()).unwrap();

    // The Go candidate leads; ours waits for it, longer than its lease.
    let mut go = GoCandidate::start(&program, &kubeconfig);
    go.says("leading").await;
    let mut first = ours(&cluster);
    assert!(timeout(LEASE * 2, first.leads()).await.is_err());
    assert_eq!(spec(&cluster).await.holder_identity.as_deref(), Some("go"));

    // It gives the lease back: ours takes it at once.
    go.stop().await;
    let released = Instant::now();
    timeout(PATIENCE, first.leads()).await.unwrap();
    let took = released.elapsed();
    assert!(took < RETRY, "{took:?}");
    assert_eq!(spec(&cluster).await.lease_transitions, Some(1));

    // A new one honours our lease for longer than it lasts without renewal, and takes it when we give it back.
    let mut go = GoCandidate::start(&program, &kubeconfig);
    go.says("leader ours").await;
    tokio::time::sleep(LEASE * 2).await;
    let renewed = spec(&cluster).await;
    assert_eq!(renewed.holder_identity.as_deref(), Some("ours"));
    assert_eq!(renewed.lease_transitions, Some(1));
    assert_eq!(first.stop().await, Outcome::Finished(()));
    go.says("leading").await;
    assert_eq!(spec(&cluster).await.lease_transitions, Some(2));

    // It dies without a word: ours takes the lease when it has expired, not before.
    let mut second = ours(&cluster);
    go.child.kill().await.unwrap();
    let died = Instant::now();
    timeout(PATIENCE, second.leads()).await.unwrap();
    let took = died.elapsed();
    assert!(took > LEASE - RETRY * 2, "{took:?}");
    assert_eq!(spec(&cluster).await.lease_transitions, Some(3));
    second.stop().await;
    endpoint.stop().await;
    std::fs::remove_dir_all(&directory).unwrap();
}

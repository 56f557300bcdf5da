//! Admission reviews of a typed object, answered by a manager's webhooks over TLS.

use std::{
    env, fs,
    path::PathBuf,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use kubewright_bench_operator::{Mode, Work};

use super::{
    Bench, Case, ask,
    controllers::{self, PEER, Program},
    megabytes, micros, millis,
    reviews::{self, MUTATE, VALIDATE},
    servers::{self, CONNECTIONS, WARM_UP},
};
use crate::{
    contest::{Digests, Sample},
    endpoint::Endpoint,
    load::{Load, Outcome},
    proc,
    requests::Template,
    results::Section,
    rows::Row,
    server::free_ports,
    wire::Connection,
};

pub(crate) const CASE: Case = Case {
    name: "webhooks",
    title: "admission reviews answered by webhooks",
    what: "A manager with a validator and a defaulter of pods, which answers reviews of a new pod of 4 KB over TLS with 32 connections: \
           first the validator, which allows it, then the defaulter, which adds one label. The reviews come from one thread of another \
           process. Processor time and memory are those of the manager's process, of all its threads. In process: the processor time of \
           ours from the body of such a review to that of its answer, without a connection.",
    run,
};

/// The time limit of a manager to start, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval between two attempts to connect.
const LOOK: Duration = Duration::from_millis(20);

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate(
            "validate_per_processor",
            "validating reviews",
            "per processor second",
        )
        .at_least(25_000.0)
        .better(5.0, PEER),
        Row::rate("validate_rate", "validating reviews", "/s"),
        Row::cost("validate_p50", "median of a validating review", "ms"),
        Row::cost(
            "default_in_process",
            "processor time for one that changes a field, in process",
            "µs",
        )
        .at_most(40.0),
        Row::cost(
            "default_processor",
            "processor time for one that changes a field, over TLS",
            "µs",
        )
        .better(5.0, PEER),
        Row::rate("default_rate", "reviews that change a field", "/s"),
        Row::cost("memory", "peak memory under 32 connections", "MB").less(60.0, PEER),
    ];
    let time = Duration::from_millis(bench.size(3000, 500));
    let rounds = (bench.rounds(3), PATIENCE);
    controllers::contest(
        bench,
        section,
        rounds,
        &Digests::new(),
        |server, program| {
            let namespace = servers::in_time(servers::namespace(&server.endpoint))?;
            let certificates = Certificates::make()?;
            let [port] = free_ports()?;
            let program = program(Work {
                mode: Mode::Webhooks,
                namespace,
                certificates: certificates.0.display().to_string(),
                port,
                ..Work::default()
            })?;
            turn(program, port, time)
        },
    );
    Ok(())
}

fn turn(program: Program, port: u16, time: Duration) -> anyhow::Result<Sample> {
    let running = program.start()?;
    let mut endpoint = endpoint(port)?;
    endpoint.pids = running.pid().into_iter().collect();
    let mut figures = Sample::default().figures;
    servers::in_time(async {
        wait(&endpoint).await?;
        proc::forget_peak(&endpoint.pids)?;
        let validated = load(&endpoint, VALIDATE, time).await?;
        let defaulted = load(&endpoint, MUTATE, time).await?;
        let memory = megabytes(proc::peak(&endpoint.pids)?);
        let all = [
            ("validate_per_processor", validated.rate_per_processor()),
            ("validate_rate", validated.rate()),
            ("validate_p50", millis(validated.percentile(50))),
            ("default_processor", micros(defaulted.processor())),
            ("default_rate", defaulted.rate()),
            ("memory", memory),
        ];
        figures.extend(all.map(|(key, figure)| (key.to_owned(), figure)));
        Ok(())
    })?;
    let mut sample = running.finish(&reviews::review(), PATIENCE)?;
    sample.figures.extend(figures);
    Ok(sample)
}

/// Sends reviews to a path, after one whose answer is checked.
async fn load(endpoint: &Endpoint, path: &str, time: Duration) -> anyhow::Result<Outcome> {
    let path_and_query = format!("{path}?timeout=10s");
    let request = Template::new(endpoint, "POST", &path_and_query, &reviews::review());
    let answer = ask(endpoint, &request, 200).await?;
    reviews::check(path, answer.as_bytes())?;
    let load = Load {
        endpoint,
        connections: CONNECTIONS,
        request,
        status: 200,
        numbers: Rc::new(|| Some(0)),
        warm_up: WARM_UP,
        time,
    };
    load.run().await
}

/// Waits until the webhooks are served.
async fn wait(endpoint: &Endpoint) -> anyhow::Result<()> {
    let began = Instant::now();
    while Connection::open(endpoint).await.is_err() {
        ensure!(began.elapsed() < PATIENCE, "no webhooks are served");
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

fn endpoint(port: u16) -> anyhow::Result<Endpoint> {
    Endpoint::from_kubeconfig(&format!(
        "current-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
         users: [{{name: a, user: {{token: none}}}}]\n\
         clusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:{port}', insecure-skip-tls-verify: true}}}}]\n"
    ))
}

/// A directory with a certificate and its key, which is removed when it is dropped.
struct Certificates(PathBuf);

impl Certificates {
    fn make() -> anyhow::Result<Self> {
        let name = format!("kubewright-bench-certificates-{}", std::process::id());
        let made = Self(env::temp_dir().join(name));
        fs::create_dir_all(&made.0)?;
        let key = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        fs::write(made.0.join("tls.crt"), key.cert.pem())?;
        fs::write(made.0.join("tls.key"), key.signing_key.serialize_pem())?;
        Ok(made)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // The files are in the temporary directory, where nobody misses them.
        let _ = fs::remove_dir_all(&self.0);
    }
}

//! The program around an operator: flags, logs, health, metrics, leader election, signals.
//!
//! Without a command it runs, until a signal tells it to stop; with the hidden flag `--until-stdin-closes` also until its
//! standard input ends, so that it never outlives the program that started it. With `--webhook-cert-path` it also converts
//! objects for the cluster. `describe` prints the [`Model`](super::Model) as JSON and needs no cluster; `install` brings the
//! definitions to a cluster.

use std::{
    error::Error,
    future::Future,
    io::{Read, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, value_parser};
use kube::Client;
use kubewright_controller::{
    ElectionConfig, Manager,
    flags::{LogFormat, ManagerFlags, bind_address},
};
use tokio::{net::TcpListener, task::JoinSet};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use super::{ConversionWebhook, Converter, Operator};

type BoxError = Box<dyn Error + Send + Sync>;

/// Where pods find the namespace they run in.
const OWN_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The flag of programs that start this one.
const UNTIL_STDIN_CLOSES: &str = "until-stdin-closes";

/// Where conversion is served.
const WEBHOOK_BIND_ADDRESS: &str = "webhook-bind-address";

/// Where the certificate for it is.
const WEBHOOK_CERT_PATH: &str = "webhook-cert-path";

/// The whole program: reads the arguments, and runs until it is told to stop.
pub fn main(name: &'static str, register: fn(&mut Operator)) -> ExitCode {
    let matches = command(name).get_matches();
    let flags = ManagerFlags::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    let operator = Operator::of(name, register);
    let ended = match matches.subcommand_name() {
        Some("describe") => describe(&operator),
        Some("install") => in_runtime(async { Ok(operator.install(client(&flags).await?).await?) }),
        _ => {
            let bound = matches.get_flag(UNTIL_STDIN_CLOSES);
            in_runtime(run(operator, flags, Endpoint::of(&matches), bound))
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn command(name: &'static str) -> Command {
    let flags = <ManagerFlags as clap::Args>::augment_args(Command::new(name));
    flags
        .arg(
            Arg::new(UNTIL_STDIN_CLOSES)
                .long(UNTIL_STDIN_CLOSES)
                .action(ArgAction::SetTrue)
                .hide(true),
        )
        .arg(
            Arg::new(WEBHOOK_BIND_ADDRESS)
                .long(WEBHOOK_BIND_ADDRESS)
                .value_name("ADDRESS")
                .default_value(":9443")
                .help("The address that the cluster calls to have objects converted. \"0\" turns it off"),
        )
        .arg(
            Arg::new(WEBHOOK_CERT_PATH)
                .long(WEBHOOK_CERT_PATH)
                .value_name("DIRECTORY")
                .value_parser(value_parser!(PathBuf))
                .help("The directory of tls.crt and tls.key for that address. Without it nothing is served there"),
        )
        .subcommand(
            Command::new("install").about("Brings the definitions of the APIs to the cluster"),
        )
        .subcommand(
            Command::new("describe")
                .about("Prints what the operator is made of")
                .hide(true),
        )
}

/// Where objects are converted for the cluster.
struct Endpoint {
    address: String,
    certificates: Option<PathBuf>,
}

impl Endpoint {
    fn of(matches: &ArgMatches) -> Self {
        let address = matches.get_one::<String>(WEBHOOK_BIND_ADDRESS);
        Self {
            address: address.cloned().unwrap_or_default(),
            certificates: matches.get_one(WEBHOOK_CERT_PATH).cloned(),
        }
    }

    /// Serves, if there is something to convert and a certificate to do it with. It ends with what is returned.
    async fn serve(self, converter: Converter) -> Result<JoinSet<()>, BoxError> {
        let mut serving = JoinSet::new();
        let address = bind_address(&self.address);
        match (address, self.certificates) {
            _ if converter.definitions().is_empty() => {}
            (Some(address), Some(directory)) => {
                let webhook = ConversionWebhook::new(converter, &directory)?;
                serving.spawn(webhook.serve(listen(&address).await?));
            }
            _ => tracing::info!(
                "objects are not converted here: there is no certificate to serve with"
            ),
        }
        Ok(serving)
    }
}

async fn listen(address: &str) -> Result<TcpListener, BoxError> {
    let listener = TcpListener::bind(address).await.map_err(|e| {
        format!("cannot listen on {address}: {e}; choose another address, or \"0\" for none")
    })?;
    Ok(listener)
}

fn describe(operator: &Operator) -> Result<(), BoxError> {
    let model = operator.model()?;
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &model)?;
    writeln!(out)?;
    Ok(())
}

fn in_runtime(work: impl Future<Output = Result<(), BoxError>>) -> Result<(), BoxError> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

async fn client(flags: &ManagerFlags) -> Result<Client, BoxError> {
    Ok(Client::try_from(flags.config().await?)?)
}

async fn run(
    operator: Operator,
    flags: ManagerFlags,
    endpoint: Endpoint,
    bound: bool,
) -> Result<(), BoxError> {
    log(&flags)?;
    let signal = told_to_stop()?;
    let stop = async move {
        tokio::select! {
            () = signal => {}
            () = input_ends(), if bound => {}
        }
    };
    let mut builder = Manager::builder(client(&flags).await?);
    if flags.leader_elect {
        let id = flags.leader_election_id.clone();
        let lease = id.unwrap_or_else(|| operator.name().to_owned());
        let namespace = flags.leader_election_namespace.clone();
        let namespace = namespace.unwrap_or_else(own_namespace);
        builder = builder.leader_election(ElectionConfig::new(lease, namespace));
    }
    // No namespace means all of them, not none.
    if let Some(namespace) = &flags.namespace {
        builder = builder.namespaces([namespace]);
    }
    let manager = builder.build()?;
    // The caches may hold versions that only this program can make.
    let serving = endpoint.serve(operator.converter()).await?;
    operator.add_to(&manager)?;
    for address in [
        flags.health_probe_bind_address(),
        flags.metrics_bind_address(),
    ]
    .into_iter()
    .flatten()
    {
        manager.serve(listen(&address).await?, manager.routes())?;
    }
    let ended = manager.run(stop).await;
    drop(serving);
    Ok(ended?)
}

/// Sends what is traced to standard error, in the form the flags ask for.
fn log(flags: &ManagerFlags) -> Result<(), BoxError> {
    let filter: Targets = flags
        .log_level
        .parse()
        .map_err(|e| format!("--log-level {:?} is not a level: {e}", flags.log_level))?;
    let registry = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    match flags.log_format {
        LogFormat::Text => registry.with(lines).try_init()?,
        LogFormat::Json => registry.with(lines.json()).try_init()?,
    }
    Ok(())
}

fn own_namespace() -> String {
    match std::fs::read_to_string(OWN_NAMESPACE) {
        Ok(name) => name.trim().to_owned(),
        Err(_) => "default".to_owned(),
    }
}

/// Ready when the process is told to stop. It listens from now on.
#[cfg(unix)]
fn told_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Ready when the process is told to stop.
#[cfg(not(unix))]
fn told_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}

/// Ready when standard input has ended. What comes before is passed over.
async fn input_ends() {
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    // Reading blocks, and cannot be called off: the thread ends with the program.
    std::thread::spawn(move || {
        let mut passed_over = [0; 1024];
        let mut input = std::io::stdin().lock();
        while matches!(input.read(&mut passed_over), Ok(1..)) {}
        drop(tell);
    });
    // Nobody sends: the other end is dropped.
    _ = told.await;
}

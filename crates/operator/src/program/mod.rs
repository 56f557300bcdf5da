//! The program around an operator: flags, logs, health, metrics, leader election, signals.
//!
//! Without a command, the program runs until it receives SIGINT or SIGTERM. The hidden flag `--until-stdin-closes` also stops it
//! when its standard input is closed, so that it does not outlive its parent process, and takes commands to its controllers from
//! there, one JSON object on each line. It serves its webhooks with a certificate
//! from `--webhook-cert-path`, or one that it issues. `describe` prints the [`Model`](crate::Model) as JSON without a cluster;
//! `install` installs the CustomResourceDefinitions.

#[cfg(feature = "apiserver")]
mod apiserver;
#[cfg(feature = "apiserver")]
mod apiserver_options;
#[cfg(feature = "apiserver")]
mod apiserver_store;
mod input;
mod metrics;

use std::{
    error::Error,
    future::Future,
    io::{IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use kube::Client;
use kubewright_controller::{
    Manager,
    flags::{ManagerFlags, bind_address},
    leader_election::ElectionConfig,
};
use kubewright_webhook::{Certificates, ManagedCertificates, WebhookServer, Webhooks};
use tokio::net::TcpListener;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    Operator,
    log::{RunLines, log_lines},
    names::Names,
};

type BoxError = Box<dyn Error + Send + Sync>;

/// The file with the namespace of a pod.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The hidden flag for programs that start this one as a child process.
const UNTIL_STDIN_CLOSES: &str = "until-stdin-closes";

/// The environment variable with the directory to which tests write the permissions that their operators needed. Set by
/// `kubewright audit rbac`.
#[cfg(feature = "testing")]
const PERMISSIONS: &str = "KUBEWRIGHT_PERMISSIONS";

/// The flag for the address of the webhooks.
const WEBHOOK_BIND_ADDRESS: &str = "webhook-bind-address";

/// The flag for the directory of their certificate.
const WEBHOOK_CERT_PATH: &str = "webhook-cert-path";

/// The flags for the names of the files in it.
const WEBHOOK_CERT_NAME: &str = "webhook-cert-name";
const WEBHOOK_CERT_KEY: &str = "webhook-cert-key";

/// The flag for the authorities of the clients of the webhooks.
const WEBHOOK_CLIENT_CA: &str = "webhook-client-ca";

/// The flag for HTTP/2.
const ENABLE_HTTP2: &str = "enable-http2";

/// The flag for the Service that certificates are issued for.
const WEBHOOK_SERVICE: &str = "webhook-service";

/// Runs an operator as a program: parses the command line and runs until a signal stops it.
///
/// ```no_run
/// use std::process::ExitCode;
/// use kubewright_operator::Operator;
///
/// fn register(operator: &mut Operator) {
///     operator.version(env!("CARGO_PKG_VERSION"));
/// }
///
/// fn main() -> ExitCode {
///     kubewright_operator::main(env!("CARGO_PKG_NAME"), register)
/// }
/// ```
pub fn main(name: &'static str, register: fn(&mut Operator)) -> ExitCode {
    let matches = command(name).get_matches();
    execute(&matches, Operator::new(name, register))
}

/// Runs an operator that has its own flags, in addition to those of every operator.
///
/// All flags need defaults: the tool runs the program without flags to describe it.
///
/// ```no_run
/// use std::process::ExitCode;
/// use clap::Args;
/// use kubewright_operator::Operator;
///
/// #[derive(Args)]
/// struct Flags {
///     /// Domain of all hosts.
///     #[arg(long, default_value = "example.com")]
///     domain: String,
/// }
///
/// fn register(operator: &mut Operator, flags: Flags) {
///     operator.configure(move |manager| manager.field_manager(flags.domain));
/// }
///
/// fn main() -> ExitCode {
///     kubewright_operator::main_with_flags(env!("CARGO_PKG_NAME"), register)
/// }
/// ```
pub fn main_with_flags<F: Args>(name: &'static str, register: fn(&mut Operator, F)) -> ExitCode {
    let matches = with_flags::<F>(name).get_matches();
    let flags = F::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    let operator = Operator::new(name, |operator| register(operator, flags));
    execute(&matches, operator)
}

/// Runs the command that the arguments name.
fn execute(matches: &ArgMatches, operator: Operator) -> ExitCode {
    let flags = ManagerFlags::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
    let ended = match matches.subcommand_name() {
        Some("describe") => describe(&operator),
        Some("install") => in_runtime(async { Ok(operator.install(client(&flags).await?).await?) }),
        _ => {
            let until_stdin_closes = matches.get_flag(UNTIL_STDIN_CLOSES);
            let servers = ServerFlags {
                webhook: WebhookFlags::from_matches(matches),
                #[cfg(feature = "apiserver")]
                apiserver: apiserver::ApiServerFlags::from_matches(matches),
            };
            in_runtime(run(operator, flags, servers, until_stdin_closes))
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

/// Returns the command line with the operator's own flags.
fn with_flags<F: Args>(name: &'static str) -> Command {
    about(F::augment_args(command(name)), name)
}

/// Replaces the description, since the flags' type overwrites it with its documentation.
fn about(command: Command, name: &'static str) -> Command {
    command
        .about(format!("Runs the operator {name}"))
        .long_about(None)
}

fn command(name: &'static str) -> Command {
    let flags = ManagerFlags::augment_args(Command::new(name));
    let command = about(flags, name);
    #[cfg(feature = "apiserver")]
    let command = apiserver::arguments(command);
    command
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
                .help("The address the webhooks bind to. \"0\" disables it"),
        )
        .arg(
            Arg::new(WEBHOOK_CERT_PATH)
                .long(WEBHOOK_CERT_PATH)
                .value_name("DIRECTORY")
                .value_parser(value_parser!(PathBuf))
                .help("The directory with tls.crt and tls.key of the webhooks. Without it, the operator issues certificates in a pod and stores them in a Secret"),
        )
        .arg(
            Arg::new(WEBHOOK_CERT_NAME)
                .long(WEBHOOK_CERT_NAME)
                .value_name("FILE")
                .default_value("tls.crt")
                .help("The name of the certificate in that directory"),
        )
        .arg(
            Arg::new(WEBHOOK_CERT_KEY)
                .long(WEBHOOK_CERT_KEY)
                .value_name("FILE")
                .default_value("tls.key")
                .help("The name of the key in that directory"),
        )
        .arg(
            Arg::new(WEBHOOK_CLIENT_CA)
                .long(WEBHOOK_CLIENT_CA)
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Require clients of the webhooks to present a certificate of one of the authorities in this PEM file"),
        )
        .arg(
            Arg::new(ENABLE_HTTP2)
                .long(ENABLE_HTTP2)
                .value_name("BOOL")
                .value_parser(value_parser!(bool))
                .num_args(0..=1)
                .require_equals(true)
                .default_value("true")
                .default_missing_value("true")
                .help("Offer HTTP/2 to clients of the webhooks"),
        )
        .arg(
            Arg::new(WEBHOOK_SERVICE)
                .long(WEBHOOK_SERVICE)
                .value_name("NAME")
                .help("The Service of the webhooks, which certificates are issued for. Defaults to the operator's name and \"-webhook-service\""),
        )
        .subcommand(
            Command::new("install").about("Installs the CustomResourceDefinitions into the cluster"),
        )
        .subcommand(
            Command::new("describe")
                .about("Prints the description of the operator as JSON")
                .hide(true),
        )
}

/// The flags of the servers that the cluster calls.
struct ServerFlags {
    webhook: WebhookFlags,
    #[cfg(feature = "apiserver")]
    apiserver: apiserver::ApiServerFlags,
}

/// The flags of the webhooks.
struct WebhookFlags {
    address: String,
    directory: Option<PathBuf>,
    /// The names of the certificate and of the key.
    files: (String, String),
    client_ca: Option<PathBuf>,
    http2: bool,
    service: Option<String>,
}

impl WebhookFlags {
    fn from_matches(matches: &ArgMatches) -> Self {
        let text = |flag: &str| {
            let given = matches.get_one::<String>(flag);
            given.cloned().unwrap_or_default()
        };
        Self {
            address: text(WEBHOOK_BIND_ADDRESS),
            directory: matches.get_one(WEBHOOK_CERT_PATH).cloned(),
            files: (text(WEBHOOK_CERT_NAME), text(WEBHOOK_CERT_KEY)),
            client_ca: matches.get_one(WEBHOOK_CLIENT_CA).cloned(),
            http2: matches.get_one(ENABLE_HTTP2).copied().unwrap_or(true),
            service: matches.get_one(WEBHOOK_SERVICE).cloned(),
        }
    }

    /// Returns the source of the certificate: a directory, or in a pod a Secret.
    fn certificates(
        &self,
        operator: &Operator,
        client: &Client,
    ) -> Result<Option<Source>, BoxError> {
        if let Some(directory) = &self.directory {
            return Ok(Some(Source::Directory(directory.clone())));
        }
        let Some(namespace) = namespace_of_pod() else {
            return Ok(None);
        };
        let default = || Names::of(operator.name()).webhook_service;
        let service = self.service.clone().unwrap_or_else(default);
        let managed = operator.managed_certificates(client.clone(), &namespace, &service)?;
        Ok(Some(Source::Managed(Box::new(managed))))
    }

    /// Adds the server to the manager if there are webhooks, an address and a certificate.
    async fn serve(
        self,
        webhooks: Webhooks,
        source: Option<Source>,
        manager: &Manager,
    ) -> Result<(), BoxError> {
        if webhooks.is_empty() {
            return Ok(());
        }
        let (certificate, key) = self.files;
        let certificates = source.map(|source| match source {
            Source::Directory(directory) => {
                Certificates::directory(directory).file_names(certificate, key)
            }
            Source::Managed(managed) => Certificates::managed(managed.clock(manager.clock())),
        });
        match (bind_address(&self.address), certificates) {
            (Some(address), Some(certificates)) => {
                let mut server = WebhookServer::new(webhooks, certificates);
                if let Some(path) = &self.client_ca {
                    let pem = std::fs::read(path)
                        .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
                    server = server.client_ca(pem);
                }
                if !self.http2 {
                    server = server.without_http2();
                }
                server.add_to(manager, listen(&address).await?)?;
            }
            _ => tracing::info!("webhooks disabled: no certificate or address given"),
        }
        Ok(())
    }
}

/// The source of the certificate of the webhooks.
enum Source {
    Directory(PathBuf),
    Managed(Box<ManagedCertificates>),
}

async fn listen(address: &str) -> Result<TcpListener, BoxError> {
    let listener = TcpListener::bind(address).await.map_err(|e| {
        format!("cannot listen on {address}: {e}; choose another address, or \"0\" to disable it")
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
    servers: ServerFlags,
    until_stdin_closes: bool,
) -> Result<(), BoxError> {
    init_logging(&flags)?;
    let signal = shutdown_signal()?;
    let (commands, closed) = match until_stdin_closes {
        true => {
            let (commands, closed) = input::read();
            (Some(commands), Some(closed))
        }
        false => (None, None),
    };
    let stop = async move {
        match closed {
            Some(closed) => tokio::select! {
                () = signal => {}
                () = closed => {}
            },
            None => signal.await,
        }
    };
    let client = client(&flags).await?;
    let webhook = servers.webhook;
    #[cfg(feature = "apiserver")]
    let apis = servers.apiserver.server(&operator, &client).await?;
    let (webhooks, source) = (
        operator.webhooks()?,
        webhook.certificates(&operator, &client)?,
    );
    let mut builder = Manager::builder(client.clone()).name(operator.name());
    if flags.leader_elect {
        let id = flags.leader_election_id.clone();
        let lease = id.unwrap_or_else(|| operator.name().to_owned());
        let namespace = flags.leader_election_namespace.clone();
        let namespace = namespace.unwrap_or_else(pod_namespace);
        builder = builder.leader_election(ElectionConfig::new(lease, namespace));
    }
    // Without the flag the manager watches all namespaces.
    if let Some(namespace) = &flags.namespace {
        builder = builder.namespaces([namespace]);
    }
    let manager = operator.build(builder)?;
    if let Some(commands) = commands {
        commands.execute(&manager);
    }
    webhook.serve(webhooks.clone(), source, &manager).await?;
    #[cfg(feature = "apiserver")]
    if let Some(apis) = apis {
        apis.add_to(&manager)?;
    }
    if let Some(address) = flags.health_probe_bind_address() {
        manager.serve(listen(&address).await?, manager.health_routes())?;
    }
    let routes = manager.routes();
    let routes = routes.debug("/debug/webhooks", move || webhooks.debug_reviews());
    metrics::serve(&manager, &flags, routes, client).await?;
    manager.report_runs()?;
    Ok(manager.run(stop).await?)
}

/// Initializes logging to standard error in the format that the flags select.
fn init_logging(flags: &ManagerFlags) -> Result<(), BoxError> {
    let filter: Targets = flags
        .log_level
        .parse()
        .map_err(|e| format!("--log-level {:?} is not valid: {e}", flags.log_level))?;
    let no_color = std::env::var_os("NO_COLOR");
    let coloured = std::io::stderr().is_terminal() && no_color.is_none_or(|it| it.is_empty());
    let lines = log_lines(std::io::stderr, flags.log_format, coloured);
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .with(RunLines)
        .try_init()?;
    Ok(())
}

/// Returns the directory that permissions are recorded in, if there is one.
#[cfg(feature = "testing")]
pub(crate) fn permissions_directory() -> Option<PathBuf> {
    let directory = std::env::var_os(PERMISSIONS)?;
    (!directory.is_empty()).then(|| directory.into())
}

fn pod_namespace() -> String {
    namespace_of_pod().unwrap_or_else(|| "default".to_owned())
}

/// Returns the namespace of this pod; `None` outside a pod.
fn namespace_of_pod() -> Option<String> {
    let name = std::fs::read_to_string(NAMESPACE_FILE).ok()?;
    Some(name.trim().to_owned())
}

/// Completes on SIGINT or SIGTERM. The handlers are installed by the call, not by the first poll.
#[cfg(unix)]
fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
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

/// Completes on Ctrl-C.
#[cfg(not(unix))]
fn shutdown_signal() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documentation that must not appear in the help.
    #[derive(clap::Args)]
    struct Flags {
        /// Domain of all hosts.
        #[arg(long, default_value = "example.com")]
        domain: String,
    }

    #[test]
    fn help_describes_the_program_not_the_type_of_its_flags() {
        for mut command in [command("shop"), with_flags::<Flags>("shop")] {
            let help = command.render_long_help().to_string();
            assert!(help.starts_with("Runs the operator shop\n"), "{help}");
            assert!(!help.contains("```"), "{help}");
            assert!(help.contains("--leader-elect"), "{help}");
        }
    }

    #[test]
    fn custom_flags_are_parsed_with_the_standard_ones() {
        let args = ["shop", "--domain", "example.org", "--leader-elect"];
        let matches = with_flags::<Flags>("shop").get_matches_from(args);
        let flags = Flags::from_arg_matches(&matches).unwrap();
        assert_eq!(flags.domain, "example.org");
        assert!(
            ManagerFlags::from_arg_matches(&matches)
                .unwrap()
                .leader_elect
        );
    }
}

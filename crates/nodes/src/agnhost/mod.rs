//! `agnhost`, the image of Kubernetes' own tests: a Rust function for each of its subcommands.
//!
//! They use what functions of users have: [`Container`] with its ports, files and log.
//!
//! | module | subcommands |
//! |---|---|
//! | `servers` | `serve-hostname`, `porter`, `liveness`, `nettest`, `grpc-health-checking` |
//! | `net_exec` | `netexec` |
//! | `webhook` | `webhook`: admission |
//! | `conversion` | `crd-conversion-webhook` |
//! | `guestbook` | `guestbook` |
//! | `port_forward` | `port-forward-tester` |
//! | `mount_test` | `mounttest` |
//! | `commands` | `connect`, `entrypoint-tester`, `logs-generator`, and those that the shell has |
//! | `flags`, `http` | flags of subcommands, requests and responses |

mod commands;
mod conversion;
mod flags;
mod guestbook;
mod http;
mod mount_test;
mod net_exec;
mod port_forward;
mod servers;
mod webhook;

use crate::{
    behavior::Behavior,
    image::{Container, full_name, untagged},
    pod::plan::ContainerPlan,
};
pub(crate) use commands::{PATIENCE, log_line, pace, within};
pub(crate) use flags::Flags;

/// The end of the name of the image.
const NAME: &str = "/agnhost";

/// The subcommands that are functions. The others have the behavior of any image.
const SUBCOMMANDS: [&str; 17] = [
    "connect",
    "crd-conversion-webhook",
    "dns-server-list",
    "dns-suffix",
    "entrypoint-tester",
    "etc-hosts",
    "grpc-health-checking",
    "guestbook",
    "liveness",
    "logs-generator",
    "mounttest",
    "netexec",
    "nettest",
    "port-forward-tester",
    "porter",
    "serve-hostname",
    "webhook",
];

/// Returns the behavior of a container of this image. Without a subcommand, it does nothing until it is stopped.
pub(crate) fn behavior(container: &ContainerPlan) -> Option<Behavior> {
    let words = words(container)?;
    match split(&words).map_or("pause", |(_, subcommand, _)| subcommand) {
        "pause" => Some(Behavior::runs().logs(["Paused"])),
        subcommand => SUBCOMMANDS
            .contains(&subcommand)
            .then(|| Behavior::function(run)),
    }
}

/// Returns the port of a container that serves its files.
pub(crate) fn test_web_server(container: &ContainerPlan) -> Option<u16> {
    let words = words(container)?;
    let (_, subcommand, arguments) = split(&words)?;
    (subcommand == "test-webserver").then(|| Flags::parse(arguments).port("port", 80))
}

/// Returns the files that the image comes with: paths and texts.
pub(crate) fn files(image: &str) -> Vec<(String, String)> {
    let pair = is_name(image).then(http::self_signed);
    let Some(Ok((certificate, key))) = pair else {
        return Vec::new();
    };
    let files = [
        ("agnhost", &b"simulated program\n"[..]),
        ("localhost.crt", certificate),
        ("localhost.key", key),
    ];
    let files = files.into_iter();
    files
        .map(|(path, text)| (path.to_owned(), String::from_utf8_lossy(text).into_owned()))
        .collect()
}

/// Reports whether a name is that of this image.
fn is_name(image: &str) -> bool {
    untagged(&full_name(image)).ends_with(NAME)
}

/// Reports whether a container is one of this image.
pub(crate) fn is_image(container: &ContainerPlan) -> bool {
    words(container).is_some()
}

/// Returns the words of a container of this image.
fn words(container: &ContainerPlan) -> Option<Vec<String>> {
    let raw = &container.raw;
    is_name(&raw.image).then(|| raw.command.iter().chain(&raw.args).cloned().collect())
}

/// Splits the words of a container into the program, the subcommand and its arguments.
fn split(words: &[String]) -> Option<(&str, &str, &[String])> {
    let (first, rest) = words.split_first()?;
    match first.as_str() {
        program @ ("/agnhost" | "agnhost" | "/agnhost-2") => {
            let (subcommand, arguments) = rest.split_first()?;
            Some((program, subcommand, arguments))
        }
        subcommand => Some(("/agnhost", subcommand, rest)),
    }
}

/// Runs a container, and returns its exit code.
async fn run(container: Container) -> i32 {
    let words = container.expanded_arguments().await;
    let Some((program, subcommand, arguments)) = split(&words) else {
        return 1;
    };
    let flags = Flags::parse(arguments);
    match subcommand {
        "connect" => commands::connect(&container, &flags).await,
        "crd-conversion-webhook" => conversion::run(&container, &flags).await,
        "entrypoint-tester" => commands::entrypoint(&container, program, &words),
        "dns-server-list" | "dns-suffix" | "etc-hosts" => {
            commands::in_shell(&container, program, subcommand).await
        }
        "grpc-health-checking" => servers::health(&container, &flags).await,
        "guestbook" => guestbook::run(&container, &flags).await,
        "liveness" => servers::liveness(&container).await,
        "logs-generator" => commands::logs(&container, &flags).await,
        "mounttest" => mount_test::run(&container, &flags).await,
        "netexec" => net_exec::run(&container, &flags).await,
        "nettest" => servers::contacts(&container, &flags).await,
        "port-forward-tester" => port_forward::run(&container).await,
        "porter" => servers::porter(&container, &flags).await,
        "serve-hostname" => servers::hostname(&container, &flags).await,
        _ => webhook::run(&container, &flags).await,
    }
}

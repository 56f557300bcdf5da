//! The program `etcd`: it answers health checks, because the API server keeps its objects itself.
//!
//! A cluster is gone when its API server ends: one that is started again with the same `--etcd-servers` is empty.

use std::{convert::Infallible, net::SocketAddr};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use kubewright_scaffold::Error;
use kubewright_serve::Server;
use tokio::net::TcpListener;

use super::flags::{self, Effect, Flag, Flags, switches, values};
use crate::{
    in_runtime,
    output::{say, warn},
    signal::interrupted,
};

const ABOUT: &str = "Stands in for etcd in tests: answers /health and stores nothing.";

static USED: [Flag; 1] = values(Effect::Used, ["listen-client-urls"]);

static IGNORED: [Flag; 14] = values(
    Effect::Ignored,
    [
        "advertise-client-urls",
        "auto-compaction-mode",
        "auto-compaction-retention",
        "data-dir",
        "initial-advertise-peer-urls",
        "initial-cluster",
        "initial-cluster-state",
        "initial-cluster-token",
        "listen-peer-urls",
        "log-level",
        "max-request-bytes",
        "name",
        "quota-backend-bytes",
        "snapshot-count",
    ],
);

static IGNORED_SWITCHES: [Flag; 1] = switches(Effect::Ignored, ["unsafe-no-fsync"]);

fn all() -> impl Iterator<Item = &'static Flag> {
    USED.iter().chain(&IGNORED).chain(&IGNORED_SWITCHES)
}

pub(super) fn run(arguments: &[String]) -> anyhow::Result<()> {
    if arguments.iter().any(|argument| argument == "--help") {
        return say(&flags::help(ABOUT, all()));
    }
    let table = |name: &str| all().find(|flag| flag.name == name);
    let flags = Flags::parse("etcd", table, arguments)
        .map_err(|message| Error::new(message, "see etcd --help"))?;
    let address = listen_address(flags.last("listen-client-urls"))?;
    in_runtime(serve(address))
}

/// Returns the address of the first URL.
fn listen_address(urls: Option<&str>) -> Result<SocketAddr, Error> {
    let url = urls
        .and_then(|urls| urls.split(',').next())
        .unwrap_or("http://127.0.0.1:2379");
    let address = url
        .strip_prefix("http://")
        .map(|address| address.trim_end_matches('/'))
        .and_then(|address| address.parse().ok());
    address.ok_or_else(|| {
        Error::new(
            format_args!("cannot listen on {url}"),
            "use a URL of the form http://127.0.0.1:2379",
        )
    })
}

async fn serve(address: SocketAddr) -> anyhow::Result<()> {
    let stop = interrupted()?;
    let listener = TcpListener::bind(address).await.map_err(|e| {
        let problem = format_args!("cannot listen on {address}: {e}");
        Error::new(problem, "choose another --listen-client-urls")
    })?;
    warn(format_args!(
        "etcd of kubewright: answers health checks on {address} and stores nothing"
    ));
    let answer =
        tower::service_fn(async |request: Request<_>| Ok::<_, Infallible>(respond(request)));
    Server::new(listener).serve(answer, stop).await;
    Ok(())
}

fn respond<B>(request: Request<B>) -> Response<Full<Bytes>> {
    let (code, body) = match request.uri().path() {
        "/health" => (StatusCode::OK, r#"{"health":"true","reason":""}"#),
        _ => (StatusCode::NOT_FOUND, "404 page not found\n"),
    };
    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = code;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_that_of_the_first_url() {
        let urls = "http://127.0.0.1:4001,http://127.0.0.1:4002";
        let address = listen_address(Some(urls)).unwrap();
        assert_eq!(address.to_string(), "127.0.0.1:4001");
        assert!(listen_address(Some("https://127.0.0.1:4001")).is_err());
        assert_eq!(listen_address(None).unwrap().port(), 2379);
    }
}

//! `serve-hostname`, `porter`, `liveness` and `nettest`.

use std::{collections::BTreeMap, future::ready, sync::Arc, time::Duration};

use http::{Request, StatusCode};
use jiff::SignedDuration;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    flags::Flags,
    http::{body, html, json as answer, serve, serve_tls, text},
};
use crate::image::{Container, HttpBody};

/// The time for which `liveness` is healthy.
const HEALTHY: SignedDuration = SignedDuration::from_secs(10);

/// Answers every request with the name of the host.
pub(super) async fn hostname(container: &Container, flags: &Flags<'_>) -> i32 {
    let name: Arc<str> = container.hostname().await.into();
    serve(container, flags.port("port", 9376), move |_| {
        ready(text(StatusCode::OK, name.to_string()))
    })
    .await
}

/// Serves a text on each port that the environment names, by TLS if it is configured.
pub(super) async fn porter(container: &Container, flags: &Flags<'_>) -> i32 {
    let is_json = flags.has("json-response");
    let ports = container.environment().iter().filter_map(|(name, value)| {
        let (is_tls, port) = match name.strip_prefix("SERVE_TLS_PORT_") {
            Some(port) => (true, port),
            None => {
                let plain = ["SERVE_TCP_PORT_", "SERVE_PORT_"];
                let port = plain.iter().find_map(|prefix| name.strip_prefix(prefix))?;
                (false, port)
            }
        };
        Some((port.parse::<u16>().ok()?, is_tls, value.clone()))
    });
    let files = (container.env("CERT_FILE"), container.env("KEY_FILE"));
    let servers = ports.map(|(port, is_tls, value)| async move {
        let handler = move |request: Request<HttpBody>| {
            let body = match is_json {
                true => json!({"Method": request.method().as_str(), "Body": value}).to_string(),
                false => value.clone(),
            };
            // As Go does, from the beginning of the body.
            ready(match body.starts_with('<') {
                true => html(body),
                false => text(StatusCode::OK, body),
            })
        };
        match is_tls {
            true => serve_tls(container, port, files, handler).await,
            false => serve(container, port, handler).await,
        }
    });
    let codes = futures_util::future::join_all(servers).await;
    container.stopped().await;
    codes.into_iter().max().unwrap_or(0)
}

/// Is healthy until the delay of its flag is over. The health of a gRPC server is that its port is open.
pub(super) async fn health(container: &Container, flags: &Flags<'_>) -> i32 {
    let delay = flags.get("delay-unhealthy-sec");
    let delay = delay.and_then(|delay| delay.parse::<u64>().ok());
    let mut listener = match container.listen(flags.port("port", 5000)) {
        Ok(listener) => listener,
        Err(error) => {
            container.log(format!("failed to listen: {error}"));
            return 1;
        }
    };
    let end = async {
        match delay {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            None => std::future::pending().await,
        }
    };
    let serving = async { while listener.accept().await.is_some() {} };
    tokio::select! {
        () = serving => {}
        () = end => {}
        () = container.stopped() => return 0,
    }
    drop(listener);
    container.stopped().await;
    0
}

/// Is healthy for ten seconds.
pub(super) async fn liveness(container: &Container) -> i32 {
    let (started, clock) = (container.now(), container.clone());
    serve(container, 8080, move |request| {
        let age = clock.now().duration_since(started);
        ready(match request.uri().path() {
            "/started" => text(StatusCode::OK, format!("{age:#}")),
            "/healthz" if age > HEALTHY => {
                let seconds = age.as_secs_f64();
                text(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    format!("error: {seconds}"),
                )
            }
            "/healthz" => text(StatusCode::OK, "ok"),
            _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
        })
    })
    .await
}

/// The number of sources that are remembered.
const MOST_SOURCES: usize = 1000;

/// Counts who has contacted it. Contacting others is left out.
pub(super) async fn contacts(container: &Container, flags: &Flags<'_>) -> i32 {
    let received = Arc::new(Mutex::new(BTreeMap::<String, u64>::new()));
    let name: Arc<str> = container.hostname().await.into();
    serve(container, flags.port("port", 8080), move |request| {
        let (received, name) = (received.clone(), name.clone());
        async move {
            match request.uri().path() {
                "/write" => {
                    let body = body(request).await.unwrap_or_default();
                    let contact: Value = serde_json::from_slice(&body).unwrap_or_default();
                    let mut received = received.lock();
                    if let Some(source) = contact["Source"].as_str()
                        && (received.len() < MOST_SOURCES || received.contains_key(source))
                    {
                        *received.entry(source.to_owned()).or_default() += 1;
                    }
                    answer(StatusCode::OK, &json!({"Hostname": &*name}))
                }
                "/read" => {
                    let state = json!({
                        "Hostname": &*name, "Sent": null, "Received": *received.lock(), "Errors": null,
                        "Log": null, "StillContactingPeers": false,
                    });
                    answer(StatusCode::OK, &state)
                }
                _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
            }
        }
    })
    .await
}

//! The clients of client-go, in `conformance/streams`.
//!
//! The test runs if `KUBEWRIGHT_GO_STREAMS` is set, which means that the Go modules of that folder are available.

use std::{convert::Infallible, env, path::Path, sync::Arc};

use http::Request;
use hyper::body::Incoming;
use kubewright_serve::Server;
use kubewright_streams::Streams;
use tokio::net::TcpListener;

use crate::commands::{Commands, answer};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn go_clients_are_served() {
    if env::var_os("KUBEWRIGHT_GO_STREAMS").is_none() {
        println!(
            "skipped: clients of client-go: KUBEWRIGHT_GO_STREAMS does not say that the modules of conformance/streams are there"
        );
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (streams, commands) = (Streams::default(), Arc::new(Commands::default()));
    let service = tower::service_fn(move |request: Request<Incoming>| {
        let response = answer(&streams, &commands, request);
        async move { Ok::<_, Infallible>(response) }
    });
    tokio::spawn(Server::new(listener).serve(service, std::future::pending()));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/streams");
    let output = tokio::process::Command::new("go")
        .args(["test", "-count=1", "-v", "./..."])
        .current_dir(folder)
        .env("KUBEWRIGHT_STREAMS", address.to_string())
        .env("GOFLAGS", "-mod=mod")
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    for test in [
        "TestStandardStreamsAreKeptApart",
        "TestExitCodesArrive",
        "TestMegabytesComeBack",
        "TestTerminalsHaveASize",
        "TestUnknownProtocolsFallBack",
        "TestPortsAreForwarded",
    ] {
        assert!(text.contains(&format!("--- PASS: {test}")), "{text}");
    }
}

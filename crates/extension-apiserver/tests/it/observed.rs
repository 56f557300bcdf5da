//! Audit events, metrics and stores of a server, as flags and code set them.

use std::{fs, path::PathBuf, sync::Arc};

use http::Request;
use kubewright_apiserver::{Body, Metrics};
use kubewright_extension_apiserver::{ExtensionServer, Kind, ServerFlags};
use kubewright_metrics::MetricType;
use serde_json::Value;

use crate::sky::{COMETS, Comet, comet, get, post};

/// A directory that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("kubewright-extension-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The files are in the temporary directory, where nobody misses them.
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn server(flags: &ServerFlags) -> ExtensionServer {
    let store = flags.store.open("sky").await.unwrap();
    let builder = ExtensionServer::builder().default_store(store.store());
    let kind = Kind::<Comet>::stored_by_server();
    builder.kind(kind).build().unwrap()
}

#[tokio::test]
async fn audit_events_are_written_to_a_file() {
    let folder = Folder::new("audit");
    let (policy, log) = (folder.path("policy.yaml"), folder.path("audit.jsonl"));
    let text = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- level: Metadata\n";
    fs::write(&policy, text).unwrap();
    let flags = ["--audit-policy-file", &policy, "--audit-log-path", &log];
    let flags = ServerFlags::parse(flags).unwrap();
    let server = server(&flags).await;
    flags.audit.start(&server).unwrap();
    post(&server, COMETS, &comet("halley", 76)).await;
    // The last clone of the server closes the log.
    drop(server);
    let written = fs::read_to_string(&log).unwrap();
    let event: Value = serde_json::from_str(written.lines().next().unwrap()).unwrap();
    assert_eq!(
        (event["verb"].as_str(), event["objectRef"]["name"].as_str()),
        (Some("create"), Some("halley"))
    );

    fs::write(&policy, "rules: nonsense").unwrap();
    let server = self::server(&flags).await;
    let error = flags.audit.start(&server).unwrap_err().to_string();
    assert!(error.starts_with(&policy), "{error}");
}

#[tokio::test]
async fn metrics_of_the_author_stand_beside_those_of_requests() {
    let metrics = Metrics::new(jiff::Timestamp::UNIX_EPOCH);
    metrics.collect_with(|text| {
        text.heading("sky_comets", "Comets that are visible.", MetricType::Gauge);
        text.sample("sky_comets", [], 3.0);
    });
    let server = ExtensionServer::builder()
        .configure(|server| server.metrics(Arc::new(metrics)))
        .store::<Comet>(Arc::new(kubewright_store::MemoryStore::new()))
        .build()
        .unwrap();
    get(&server, COMETS).await;
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let body = server.handle(request).await.into_body();
    let text = body.collect_up_to(1 << 20).await.unwrap().unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert!(text.contains("sky_comets 3"), "{text}");
    let counted =
        |line: &str| line.starts_with("apiserver_request_total") && line.contains("comets");
    assert!(text.lines().any(counted), "{text}");
}

#[cfg(not(feature = "durable"))]
#[tokio::test]
async fn stores_that_were_not_built_in_are_named() {
    let flags = ServerFlags::parse(["--data-dir=/sky"]).unwrap();
    let error = flags.store.open("sky").await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "/sky needs the feature `durable` of kubewright-extension-apiserver"
    );
}

#[cfg(feature = "durable")]
#[tokio::test]
async fn objects_in_a_directory_survive_the_server() {
    let folder = Folder::new("store");
    let data = folder.path("data");
    let flags = ServerFlags::parse(["--data-dir", &data]).unwrap();
    let one = server(&flags).await;
    post(&one, COMETS, &comet("halley", 76)).await;
    drop(one);
    let next = server(&flags).await;
    assert_eq!(get(&next, &format!("{COMETS}/halley")).await.0, 200);
}

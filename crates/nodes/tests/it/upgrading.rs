//! Streams of pods on a cluster with one node, over WebSockets and SPDY.

use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::AttachedProcess, client::Body};
use kubewright_controller::wait::wait_for;
use kubewright_nodes::Nodes;
use kubewright_testing::TestCluster;
use serde_json::{Value, from_value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use crate::spdy_client::{Frame, Spdy};

/// The protocol of commands over SPDY, with exit codes.
pub(crate) const COMMANDS: &str = "v4.channel.k8s.io";

/// The protocol of forwarded ports over SPDY.
pub(crate) const PORTS: &str = "portforward.k8s.io";

/// A cluster with one node, and its pods.
pub(crate) struct Place {
    pub(crate) cluster: TestCluster,
    pub(crate) pods: Api<Pod>,
}

impl Place {
    pub(crate) async fn start() -> Self {
        let builder = TestCluster::builder().workloads().nodes(Nodes::new(1));
        let cluster = builder.start().await;
        let pods = Api::default_namespaced(cluster.client());
        Self { cluster, pods }
    }

    pub(crate) fn nodes(&self) -> &Nodes {
        self.cluster.nodes().unwrap()
    }

    /// Runs a pod with one container, `c`, and waits until it is ready.
    pub(crate) async fn run(&self, name: &str, mut container: Value) {
        container["name"] = "c".into();
        let spec = json!({"restartPolicy": "Never", "containers": [container]});
        let pod: Pod = from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
        self.pods.create(&Default::default(), &pod).await.unwrap();
        self.until(name, "Running").await;
    }

    /// Waits until a pod has a phase.
    pub(crate) async fn until(&self, name: &str, phase: &str) {
        let limit = Duration::from_secs(60);
        let reached = wait_for(&self.pods, name, limit, |pod: Option<&Pod>| {
            let status = pod.and_then(|pod| pod.status.as_ref());
            status.is_some_and(|status| status.phase.as_deref() == Some(phase))
        });
        reached.await.unwrap();
    }

    /// Sends a request for a stream of a pod over SPDY. The text is the subresource with its parameters.
    pub(crate) async fn request(&self, pod: &str, text: &str, protocol: &str) -> Response<Body> {
        let path = format!("/api/v1/namespaces/default/pods/{pod}/{text}");
        let request = Request::post(path)
            .header("Connection", "Upgrade")
            .header("Upgrade", "SPDY/3.1")
            .header("X-Stream-Protocol-Version", protocol)
            .body(Body::empty());
        let sent = self.cluster.client().send(request.unwrap()).await;
        sent.unwrap()
    }

    /// Opens a stream of a pod over SPDY.
    pub(crate) async fn spdy(
        &self,
        pod: &str,
        text: &str,
        protocol: &str,
    ) -> Spdy<impl AsyncRead + AsyncWrite + Unpin + use<>> {
        let response = self.request(pod, text, protocol).await;
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(response.headers()["x-stream-protocol-version"], protocol);
        let upgraded = hyper::upgrade::on(response).await.unwrap();
        Spdy::over(TokioIo::new(upgraded))
    }
}

/// Returns the status code and the text of a response that is no upgrade.
pub(crate) async fn refusal(response: Response<Body>) -> (u16, String) {
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status: Option<Value> = serde_json::from_str(&text).ok();
    let message = status.and_then(|status| Some(status["message"].as_str()?.to_owned()));
    (code, message.unwrap_or(text))
}

/// Reads a stream of a process to its end.
pub(crate) async fn all(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut text = String::new();
    let mut stream = stream.expect("a stream");
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// Reads as many bytes as the text has, and compares.
pub(crate) async fn expect(stream: &mut (impl AsyncRead + Unpin), text: &str) {
    let mut bytes = vec![0; text.len()];
    stream.read_exact(&mut bytes).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), text);
}

/// Returns the exit code of a command over a WebSocket.
pub(crate) async fn exit_code(process: &mut AttachedProcess) -> i32 {
    let status = process.take_status().unwrap().await.expect("a status");
    match status.status.as_deref() {
        Some("Success") => 0,
        _ => {
            assert_eq!(status.reason.as_deref(), Some("NonZeroExitCode"));
            let causes = status.details.unwrap().causes.unwrap();
            causes[0].message.as_ref().unwrap().parse().unwrap()
        }
    }
}

/// Reads streams over SPDY until the server ends the connection. Returns the bytes of each.
pub(crate) async fn rest(
    spdy: &mut Spdy<impl AsyncRead + AsyncWrite + Unpin>,
) -> std::collections::BTreeMap<u32, String> {
    let mut texts = std::collections::BTreeMap::<u32, String>::new();
    while let Some(frame) = spdy.frame().await {
        match frame {
            Frame::Data { stream, text, .. } => texts.entry(stream).or_default().push_str(&text),
            Frame::GoAway => break,
            _ => {}
        }
    }
    texts
}

//! Commands and ports, over a WebSocket to the API server.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kubewright_nodes::Nodes;
use kubewright_serve::Server;
use kubewright_testing::TestCluster;
use serde_json::{Value, from_value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// Starts a cluster with a pod that runs a command.
async fn start(command: &[&str]) -> TestCluster {
    let nodes = Nodes::new(1);
    let cluster = TestCluster::builder()
        .workloads()
        .nodes(nodes)
        .start()
        .await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let container = json!({"name": "c", "image": "busybox", "command": command});
    let spec: Value = json!({"restartPolicy": "Never", "containers": [container]});
    let pod: Pod = from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap();
    pods.create(&Default::default(), &pod).await.unwrap();
    cluster.settled().await.unwrap();
    cluster
}

/// A WebSocket, and what was read from it.
struct Socket {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Socket {
    /// Opens a WebSocket to a subresource of the pod.
    async fn open(cluster: &TestCluster, subresource: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = cluster.service();
        tokio::spawn(async move {
            Server::new(listener)
                .serve(service, std::future::pending())
                .await
        });
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "GET /api/v1/namespaces/default/pods/p/{subresource} HTTP/1.1\r\nHost: localhost\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut socket = Self {
            stream,
            read: Vec::new(),
        };
        let head = socket.until("\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        socket
    }

    /// Reads until a text has arrived, and returns everything.
    async fn until(&mut self, text: &str) -> String {
        loop {
            let all = String::from_utf8_lossy(&self.read).into_owned();
            if all.contains(text) {
                return all;
            }
            let mut buffer = [0; 4096];
            let read = timeout(Duration::from_secs(60), self.stream.read(&mut buffer)).await;
            let count = read.unwrap_or_else(|_| panic!("{all}")).unwrap();
            assert!(count > 0, "closed after: {all}");
            self.read.extend_from_slice(&buffer[..count]);
        }
    }
}

#[tokio::test]
async fn a_command_ends_with_its_container() {
    let cluster = start(&["sleep", "10000"]).await;
    let path = "exec?container=c&stdout=1&command=sleep&command=5000";
    let mut socket = Socket::open(&cluster, path).await;
    let nodes = cluster.nodes().unwrap();
    nodes.container("default", "p", "c").exit(3).await.unwrap();
    let status = socket.until("\"reason\":\"ExitCode\"").await;
    assert!(status.contains("\"message\":\"137\""), "{status}");
    assert!(status.contains("NonZeroExitCode"), "{status}");
}

#[tokio::test]
async fn a_port_on_which_nothing_listens_is_reported() {
    let cluster = start(&["sleep", "10000"]).await;
    let mut socket = Socket::open(&cluster, "portforward?ports=81").await;
    let text = socket.until("connection refused").await;
    assert!(text.contains("error forwarding port 81 to pod"), "{text}");
}

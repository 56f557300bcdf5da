//! Classes of vulnerabilities that API servers have had, each under the number of one that was published.

use std::{io, net::IpAddr, sync::Arc, time::Instant};

use async_trait::async_trait;
use http::{Request, Response, header::LOCATION};
use kubewright_apiserver::{
    Body,
    admission::{Attributes, Operation, Plugin},
    auth::TokenFile,
    boxed_async,
    request::RequestContext,
};
use kubewright_kube_apiserver::{AuthorizationMode, KubeApiServer};
use kubewright_machinery::Status;
use kubewright_streams::{KubeletBody, Kubelets, PodConnection};
use kubewright_testing::TestCluster;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    client::Client,
    custom_resources::{
        CRDS, cluster, definition, spec, version,
        webhooks::{Behaviour, V2, converting},
    },
    http_client::{Http, JSON, MAPS, MERGE, YAML},
};

const SECRET: &str = "only for the network of the server";

/// A webhook that redirects must not make the server fetch another address and show the response to a client.
#[tokio::test]
async fn cve_2020_8561_redirects_of_webhooks_are_not_followed() {
    fn redirecting(review: &Value) -> Option<(u16, String)> {
        let path = review["path"].as_str().unwrap_or_default();
        if !path.starts_with("/convert") {
            return Some((403, SECRET.to_owned()));
        }
        match review["request"]["objects"][0]["metadata"]["name"].as_str() {
            Some("a") => Some((302, "/secret".to_owned())),
            Some("b") => Some((307, "secret?x".to_owned())),
            _ => Some((308, "http://127.0.0.1:1/secret".to_owned())),
        }
    }
    let (_cluster, http, endpoint) = converting(redirecting).await;
    for (name, code) in [("a", 302), ("b", 307), ("c", 308)] {
        let status = http.get(&format!("{V2}/{name}")).await.refused_with(
            500,
            &format!(
                "conversion webhook for example.com/v1, Kind=Widget failed: the server responded with the status code {code} but did not return more information"
            ),
        );
        assert!(!status.to_string().contains(SECRET), "{status}");
    }
    assert_eq!(endpoint.calls.lock().len(), 3, "one call each");
}

/// An endpoint that can answer anything shows only a short and harmless part of it to clients.
#[tokio::test]
async fn answers_of_webhooks_are_bounded() {
    let cases: [(Behaviour, &str); 4] = [
        (
            |_| Some((403, format!("\u{1b}[2J{SECRET}").repeat(20))),
            "failed: \\u{1b}[2J",
        ),
        (
            |_| Some((200, " ".repeat(5 << 20))),
            "the response is larger than 4194304 bytes",
        ),
        (
            |review| {
                let (_, body) = crate::custom_resources::webhooks::moving(review)?;
                Some((200, body.replace("Widget", &"W".repeat(100_000))))
            },
            "invalid kind (expected Widget, received WWW",
        ),
        (
            |review| {
                let (_, body) = crate::custom_resources::webhooks::moving(review)?;
                Some((200, body.replace("Success", &"no\\n".repeat(100_000))))
            },
            "response.result.status was 'no\\nno",
        ),
    ];
    for (behaviour, text) in cases {
        let (_cluster, http, _endpoint) = converting(behaviour).await;
        let status = http.get(&format!("{V2}/a")).await.refused(500);
        let message = status["message"].as_str().unwrap_or_default();
        assert!(message.contains(text), "{message:.600}");
        assert!(message.len() < 600, "{} bytes", message.len());
        assert!(!message.contains('\u{1b}'));
    }
}

/// An upgrade that no backend accepted must not leave a connection open, nor be passed on.
#[tokio::test]
async fn cve_2018_1002105_upgrades_are_not_passed_on() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    });
    let pods = "/api/v1/namespaces/default/pods";
    http.post(pods, pod).await.ok();
    for path in ["exec?command=x", "attach", "portforward", "proxy"] {
        let request = Request::get(format!("{pods}/p/{path}"))
            .header("connection", "upgrade")
            .header("upgrade", "SPDY/3.1")
            .body(Body::empty());
        let answer = http.call(request.expect("a request")).await;
        assert!(answer.code >= 400, "{path}: {}", answer.code);
        assert!(!answer.headers.contains_key("upgrade"), "{path}");
    }
}

/// A node with an address that only the server can reach.
async fn node_at(http: &Http, name: &str, address: &str) -> String {
    http.post("/api/v1/nodes", json!({"metadata": {"name": name}}))
        .await
        .ok();
    let status = json!({"status": {"addresses": [{"type": "InternalIP", "address": address}]}});
    let path = format!("/api/v1/nodes/{name}");
    http.patch(&format!("{path}/status"), status).await.ok();
    path
}

const OWN_ADDRESSES: [(&str, &str); 4] = [
    ("a", "127.0.0.1"),
    ("b", "169.254.169.254"),
    ("c", "::1"),
    ("d", "::ffff:127.0.0.1"),
];

/// A proxy must not reach addresses that only the server can reach.
#[tokio::test]
async fn cve_2020_8562_addresses_of_the_server_are_not_proxied_to() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for (name, address) in OWN_ADDRESSES {
        let path = node_at(&http, name, address).await;
        let answer = http.get(&format!("{path}:1/proxy/")).await;
        answer.refused_with(400, "address not allowed");
    }
}

/// The address of a node counts for the port of its kubelet, too.
#[tokio::test]
async fn cve_2022_3294_addresses_of_kubelets_are_checked() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for (name, address) in OWN_ADDRESSES {
        let path = node_at(&http, name, address).await;
        for proxied in ["/proxy/metrics", ":10250/proxy/metrics"] {
            let answer = http.get(&format!("{path}{proxied}")).await;
            answer.refused_with(400, "address not allowed");
        }
    }
}

/// Nodes and pods that redirect every request.
struct Redirecting;

const ELSEWHERE: &str = "http://169.254.169.254/latest";

#[async_trait]
impl Kubelets for Redirecting {
    async fn call(
        &self,
        _node: &str,
        _request: Request<KubeletBody>,
    ) -> io::Result<Response<KubeletBody>> {
        let redirect = Response::builder().status(302).header(LOCATION, ELSEWHERE);
        let body: KubeletBody = Box::pin(Body::empty());
        redirect.body(body).map_err(io::Error::other)
    }

    async fn connect(&self, _address: IpAddr, _port: u16) -> io::Result<PodConnection> {
        let (near, mut far) = tokio::io::duplex(4096);
        tokio::spawn(async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(far.read_u8().await?);
            }
            let answer =
                format!("HTTP/1.1 302 Found\r\nlocation: {ELSEWHERE}\r\ncontent-length: 0\r\n\r\n");
            far.write_all(answer.as_bytes()).await
        });
        Ok(Box::pin(near))
    }
}

/// A node that is taken over must not lead clients, or the server, to another node.
#[tokio::test]
async fn cve_2020_8559_redirects_of_nodes_and_pods_are_refused() {
    let server = KubeApiServer::builder().kubelets(Arc::new(Redirecting));
    let server = server.build().await.expect("a server");
    let put = async |method: &str, path: &str, media: &str, body: Value| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media)
            .body(Body::from(body.to_string()));
        let answer = server.server().handle(request.expect("a request")).await;
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
    };
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    });
    let node = json!({"metadata": {"name": "n"}});
    put("POST", "/api/v1/nodes", JSON, node).await;
    put("POST", pods, JSON, pod).await;
    let address = json!({"status": {"addresses": [{"type": "Hostname", "address": "n"}]}});
    put("PATCH", "/api/v1/nodes/n/status", MERGE, address).await;
    let address = json!({"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}});
    put("PATCH", &format!("{pods}/p/status"), MERGE, address).await;
    for path in [
        format!("{pods}/p/exec?command=x"),
        format!("{pods}/p/attach"),
        format!("{pods}/p/portforward"),
        format!("{pods}/p:80/proxy/"),
        "/api/v1/nodes/n/proxy/logs".to_owned(),
    ] {
        let request = Request::get(&path)
            .header("connection", "upgrade")
            .header("upgrade", "SPDY/3.1")
            .body(Body::empty());
        let answer = server.server().handle(request.expect("a request")).await;
        assert_eq!(answer.status(), 500, "{path}");
        assert!(!answer.headers().contains_key(LOCATION), "{path}");
        let body = answer.into_body().collect_up_to(10_000).await;
        let body = body.expect("a body").expect("a short one");
        let status: Value = serde_json::from_slice(&body).expect("a Status");
        let expected = "invalid upgrade response: status code 302";
        assert_eq!(status["message"], expected, "{path}");
    }
}

/// Remembers the old objects that it sees.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<Value>>>);

#[boxed_async]
impl Plugin for Witness {
    async fn validate(
        &self,
        _cx: &RequestContext,
        attributes: &Attributes<'_>,
        _object: Option<&Value>,
    ) -> Result<(), Status> {
        if matches!(attributes.operation, Operation::Update | Operation::Delete) {
            self.0
                .lock()
                .push(attributes.old.cloned().unwrap_or_default());
        }
        Ok(())
    }
}

/// A plugin that decides by the old object must see the stored one, not what the client claims.
#[tokio::test]
async fn cve_2021_25735_plugins_see_the_stored_object() {
    let witness = Witness::default();
    let plugin = Arc::new(witness.clone());
    let client = Client::of(KubeApiServer::builder().plugin(plugin)).await;
    let node = json!({"metadata": {"name": "n", "labels": {"tier": "a"}}});
    client.post("/api/v1/nodes", &node).await;
    let path = "/api/v1/nodes/n";
    let forged = json!({"metadata": {"labels": {"tier": "b"}}, "spec": {"unschedulable": true}});
    for (kind, path) in [
        ("patch", path.to_owned()),
        ("patch", format!("{path}/status")),
        ("delete", path.to_owned()),
    ] {
        let stored = client.get("/api/v1/nodes/n").await;
        witness.0.lock().clear();
        match kind {
            "patch" => client.patch(&path, &forged).await,
            _ => client.delete(&path).await,
        };
        let seen = witness.0.lock().first().cloned();
        assert_eq!(seen, Some(stored), "{kind} {path}");
    }
}

/// References to references that double each time must be refused before they are expanded.
#[tokio::test]
async fn cve_2019_11253_aliases_do_not_multiply() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for i in 1..10 {
        let before = format!("*a{}", i - 1);
        bomb += &format!("a{i}: &a{i} [{}]\n", vec![before; 9].join(","));
    }
    let began = Instant::now();
    let answer = http.send(http::Method::POST, MAPS, YAML, bomb).await;
    answer.refused(400);
    assert!(began.elapsed().as_secs() < 5);
}

/// An object is served at the paths of its scope only.
#[tokio::test]
async fn cve_2019_11247_scopes_are_not_interchangeable() {
    let mut wide = definition(json!([version("v1", true, spec(json!({})))]));
    wide["metadata"]["name"] = json!("gadgets.example.com");
    wide["spec"]["scope"] = json!("Cluster");
    wide["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget"});
    let narrow = definition(json!([version("v1", true, spec(json!({})))]));
    let (_cluster, http) = cluster(narrow).await;
    http.post(CRDS, wide).await.ok();
    let group = "/apis/example.com/v1";
    let object = |kind: &str| json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x"}});
    http.post(&format!("{group}/gadgets"), object("Gadget"))
        .await
        .ok();
    let widgets = format!("{group}/namespaces/default/widgets");
    http.post(&widgets, object("Widget")).await.ok();
    for path in [
        "namespaces/default/gadgets",
        "namespaces/default/gadgets/x",
        "widgets/x",
    ] {
        let path = format!("{group}/{path}");
        assert_eq!(http.get(&path).await.code, 404, "GET {path}");
        assert_eq!(http.delete(&path).await.code, 404, "DELETE {path}");
    }
    http.get(&format!("{group}/gadgets/x")).await.ok();
    http.get(&format!("{widgets}/x")).await.ok();
}

/// The headers of an authenticating proxy mean nothing from somebody else, alone or with other credentials.
#[tokio::test]
async fn headers_of_a_front_proxy_do_not_authenticate_clients() {
    let tokens = Arc::new(TokenFile::parse("s3cret,alice,1").expect("a token file"));
    let open = KubeApiServer::builder().authenticator(tokens.clone());
    let open = open.build().await.expect("a server");
    let rbac = KubeApiServer::builder()
        .authenticator(tokens)
        .authorization([AuthorizationMode::Rbac]);
    let rbac = rbac.build().await.expect("a server");
    let ask = async |server: &KubeApiServer, token: Option<&str>, name: &str| {
        let mut request = Request::get(MAPS)
            .header(name, "admin")
            .header("X-Remote-Group", "system:masters");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Body::empty()).expect("a request");
        server.server().handle(request).await.status().as_u16()
    };
    for name in ["X-Remote-User", "x-remote-user", "X_Remote_User"] {
        assert_eq!(ask(&open, None, name).await, 401, "{name}");
        assert_eq!(ask(&open, Some("guess"), name).await, 401, "{name}");
        assert_eq!(ask(&open, Some("s3cret"), name).await, 200, "{name}");
        assert_eq!(ask(&rbac, Some("s3cret"), name).await, 403, "{name}");
    }
    assert_eq!(ask(&rbac, Some("s3cret"), "Impersonate-User").await, 403);
    for server in [&open, &rbac] {
        assert_eq!(ask(server, None, "Impersonate-User").await, 401);
    }
}

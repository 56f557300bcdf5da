//! A server behind a cluster, over TLS: the cluster authenticates and authorizes.

use std::{sync::Arc, time::SystemTime};

use http::Request;
use kubewright_cluster::{AuthorizationMode, CertificateAuthority, Cluster, Services};
use kubewright_extension_apiserver::{Delegation, ExtensionServer, Registration};
use kubewright_store::MemoryStore;
use kubewright_webhook::Certificates;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};

use crate::sky::{COMETS, Comet, comet};

/// A cluster, and a server of comets behind it.
struct Scene {
    cluster: Cluster,
    /// Stops the server.
    stop: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<()>,
}

impl Scene {
    async fn new() -> Self {
        let services = Services::default();
        let proxies = CertificateAuthority::generate("proxies", SystemTime::now()).unwrap();
        let cluster = Cluster::builder()
            .services(services.clone())
            .front_proxy_authority(proxies)
            .authorization([AuthorizationMode::Rbac])
            .start()
            .await
            .unwrap();
        let client = cluster.client();
        let delegation = Delegation::new(client.clone()).await.unwrap();
        let server = ExtensionServer::builder()
            .store::<Comet>(Arc::new(MemoryStore::new()))
            .delegate(&delegation)
            .build()
            .unwrap();
        let own = CertificateAuthority::generate("sky", SystemTime::now()).unwrap();
        let certificate = own
            .sign_server(["sky.test.svc"], SystemTime::now())
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        services.set_address("test", "sky", 443, listener.local_addr().unwrap());
        let registration = Registration::new("test", "sky").ca_bundle(own.certificate_pem());
        registration.apply(&client, server.api()).await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(async move {
            let certificates = Certificates::pem(certificate.certificate_pem, certificate.key_pem);
            let shutdown = async { drop(stopped.await) };
            let served = server.serve_tls(listener, &certificates, &delegation, shutdown);
            served.await.unwrap();
        });
        let scene = Self {
            cluster,
            stop: Some(stop),
            served,
        };
        scene.available().await;
        scene
    }

    /// Waits until the APIService is available.
    async fn available(&self) {
        let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.sky.example.com";
        loop {
            let (_, service) = self.send("GET", path, &Value::Null, &[]).await;
            if service["status"]["conditions"][0]["status"] == "True" {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Sends a request to the cluster as its administrator.
    async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> (u16, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        match self
            .cluster
            .client()
            .request::<Value>(request.body(body).unwrap())
            .await
        {
            Ok(answer) => (200, answer),
            Err(kube::Error::Api(status)) => (status.code, json!({"message": status.message})),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn forwarded_users_are_authorized_by_the_cluster() {
    let scene = Scene::new().await;
    let (code, made) = scene.send("POST", COMETS, &comet("halley", 76), &[]).await;
    assert_eq!(code, 200, "{made}");
    assert_eq!(made["spec"]["colour"], "white");
    let (code, error) = scene.send("POST", COMETS, &comet("none", 0), &[]).await;
    assert_eq!(code, 422, "{error}");
    // The cluster denies it itself: nothing was forwarded.
    let alice = [("impersonate-user", "alice")];
    let (code, _) = scene.send("GET", COMETS, &Value::Null, &alice).await;
    assert_eq!(code, 403);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "comets"},
        "rules": [{"apiGroups": ["sky.example.com"], "resources": ["comets"], "verbs": ["list"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "comets"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "comets"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob"}],
    });
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    scene
        .send("POST", &format!("{rbac}/clusterroles"), &role, &[])
        .await;
    scene
        .send(
            "POST",
            &format!("{rbac}/clusterrolebindings"),
            &binding,
            &[],
        )
        .await;
    let bob = [("impersonate-user", "bob")];
    let (code, list) = scene.send("GET", COMETS, &Value::Null, &bob).await;
    assert_eq!(code, 200, "{list}");
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_stopped_server_is_unavailable() {
    let mut scene = Scene::new().await;
    scene.stop.take();
    (&mut scene.served).await.unwrap();
    let (code, error) = scene.send("GET", COMETS, &Value::Null, &[]).await;
    assert_eq!(code, 503, "{error}");
}

#[tokio::test]
async fn direct_requests_are_reviewed() {
    let proxies = CertificateAuthority::generate("proxies", SystemTime::now()).unwrap();
    let cluster = Cluster::builder()
        .front_proxy_authority(proxies)
        .authorization([AuthorizationMode::Rbac])
        .start()
        .await
        .unwrap();
    let delegation = Delegation::new(cluster.client()).await.unwrap();
    let server = ExtensionServer::builder()
        .store::<Comet>(Arc::new(MemoryStore::new()))
        .delegate(&delegation)
        .build()
        .unwrap();
    let code = async |path: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(kubewright_apiserver::Body::empty()).unwrap();
        server.handle(request).await.status().as_u16()
    };
    // Nobody vouches for the headers.
    let forged = [
        ("x-remote-user", "admin"),
        ("x-remote-group", "system:masters"),
    ];
    assert_eq!(code(COMETS, &forged).await, 403);
    assert_eq!(
        code(COMETS, &[("authorization", "Bearer unknown")]).await,
        401
    );
    assert_eq!(code("/readyz", &[]).await, 200);
    let api = cluster.api_server();
    api.ensure_service_account("test", "reader").await.unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let token = api
        .service_account_token("test", "reader", hour)
        .await
        .unwrap();
    let bearer = format!("Bearer {token}");
    // Known, but not allowed.
    assert_eq!(code(COMETS, &[("authorization", &bearer)]).await, 403);
    assert_eq!(code("/version", &[("authorization", &bearer)]).await, 200);
    cluster.stop().await.unwrap();
}

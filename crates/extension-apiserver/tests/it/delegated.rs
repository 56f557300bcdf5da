//! A server behind a cluster, over TLS, with delegated authentication and authorization.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Request;
use kubewright_cluster::{AuthorizationMode, CertificateAuthority, Cluster, Services};
use kubewright_extension_apiserver::{Delegation, ExtensionServer, Registration};
use kubewright_serve::PeerCertificates;
use kubewright_store::MemoryStore;
use kubewright_webhook::Certificates;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};

use crate::sky::{COMETS, Comet, comet, post};

/// A cluster, and a server of comets behind it.
pub(crate) struct Scene {
    pub(crate) cluster: Cluster,
    /// Stops the server.
    stop: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<()>,
}

impl Scene {
    pub(crate) async fn new() -> Self {
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
            .kind(crate::streams::kind(Arc::new(MemoryStore::new())))
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
    pub(crate) async fn send(
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
    // The cluster itself denies the request, and does not forward it.
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
    // The headers are not trusted.
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
    // Authenticated, but not authorized.
    assert_eq!(code(COMETS, &[("authorization", &bearer)]).await, 403);
    assert_eq!(code("/version", &[("authorization", &bearer)]).await, 200);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn namespaces_of_the_cluster_are_checked() {
    let proxies = CertificateAuthority::generate("proxies", SystemTime::now()).unwrap();
    let cluster = Cluster::builder()
        .front_proxy_authority(proxies)
        .start()
        .await
        .unwrap();
    let delegation = Delegation::new(cluster.client()).await.unwrap();
    let server = ExtensionServer::builder()
        .store::<Comet>(Arc::new(MemoryStore::new()))
        .check_namespaces(&delegation)
        .build()
        .unwrap();
    let (code, error) = post(&server, COMETS, &comet("halley", 76)).await;
    assert_eq!(code, 404);
    assert_eq!(error["message"], r#"namespaces "sky" not found"#);
    let default = COMETS.replace("/sky/", "/default/");
    let (code, made) = post(&server, &default, &comet("halley", 76)).await;
    assert_eq!(code, 201, "{made}");
    // A namespace whose deletion is blocked by a finalizer.
    let send = async |method: &str, path: &str, body: Value| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .body(body.to_string().into_bytes())
            .unwrap();
        cluster.client().request::<Value>(request).await.unwrap()
    };
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "sky", "finalizers": ["example.com/kept"]},
    });
    send("POST", "/api/v1/namespaces", namespace).await;
    send("DELETE", "/api/v1/namespaces/sky", Value::Null).await;
    let (code, error) = post(&server, COMETS, &comet("halley", 76)).await;
    assert_eq!(code, 403);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.ends_with("because it is being terminated"),
        "{message}"
    );
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn only_the_proxy_of_the_cluster_names_users() {
    let year = Duration::from_secs(365 * 24 * 3600);
    let now = SystemTime::now();
    // The authority, and with it every certificate that it signs, is old enough for an expired one.
    let proxies = CertificateAuthority::generate("proxies", now - year).unwrap();
    let foreign = CertificateAuthority::generate("proxies", now).unwrap();
    let presented = |authority: &CertificateAuthority, at| {
        let none: [&str; 0] = [];
        let signed = authority.sign_user("front-proxy-client", none, at).unwrap();
        let lines = signed.certificate_pem.lines();
        let base64: String = lines.filter(|line| !line.starts_with('-')).collect();
        PeerCertificates::new([STANDARD.decode(base64).unwrap()])
    };
    let certificates = [
        (Some(presented(&proxies, now)), 200),
        // Another authority of the same name, a certificate of long ago, and none at all.
        (Some(presented(&foreign, now)), 401),
        (Some(presented(&proxies, now - 20 * year)), 401),
        (None, 403),
    ];
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
    for (certificate, expected) in certificates {
        let request = Request::get(COMETS)
            .header("x-remote-user", "admin")
            .header("x-remote-group", "system:masters");
        let mut request = request.body(kubewright_apiserver::Body::empty()).unwrap();
        if let Some(certificate) = certificate {
            request.extensions_mut().insert(certificate);
        }
        let code = server.handle(request).await.status();
        assert_eq!(code, expected);
    }
    cluster.stop().await.unwrap();
}

//! The endpoint of metrics and debug information.

use kube::Client;
use kubewright_controller::{ClusterAccess, Group, Manager, Routes, flags::ManagerFlags};
use kubewright_webhook::Certificates;

use super::{BoxError, listen};

/// Serves the routes as the flags say: over plain HTTP, or over HTTPS to users whom the cluster authorizes.
pub(super) async fn serve(
    manager: &Manager,
    flags: &ManagerFlags,
    routes: Routes,
    client: Client,
) -> Result<(), BoxError> {
    let Some(address) = flags.metrics_bind_address() else {
        return Ok(());
    };
    let listener = listen(&address).await?;
    if !flags.secures_metrics() {
        return Ok(manager.serve(listener, routes)?);
    }
    let certificates = match &flags.metrics_cert_path {
        Some(directory) => Certificates::directory(directory),
        None => Certificates::generated(["localhost"]),
    };
    let presented = certificates.obtain().await?;
    let routes = routes.require_access(ClusterAccess::new(client));
    manager.serve_tls(listener, presented.tls(), routes)?;
    manager.add(
        Group::Others,
        "metrics-certificate",
        move |stop| async move {
            tokio::select! {
                () = certificates.keep(&presented) => {}
                () = stop.stopping() => {}
            }
            Ok(())
        },
    )?;
    Ok(())
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use clap::{Command, FromArgMatches};
    use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
    use kube::Api;
    use kubewright_cluster::Credential;
    use kubewright_serve::connect_unverified;
    use kubewright_testing::TestCluster;
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    fn flags(args: &[&str]) -> ManagerFlags {
        let command = <ManagerFlags as clap::Args>::augment_args(Command::new("shop"));
        let matches = command.get_matches_from(["shop"].iter().chain(args));
        ManagerFlags::from_arg_matches(&matches).unwrap()
    }

    /// Returns an address that nothing listens on.
    async fn free_address() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().to_string()
    }

    /// Returns a token of a service account.
    async fn token(cluster: &TestCluster, name: &str) -> String {
        let user = format!("system:serviceaccount:shop:{name}");
        let user = cluster.credential(&user.parse().unwrap()).await.unwrap();
        match user.credential {
            Credential::Token(token) => token,
            _ => panic!("service accounts have tokens"),
        }
    }

    /// Requests the metrics over TLS, and returns the response.
    async fn metrics(address: &str, token: Option<&str>) -> String {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut stream = connect_unverified(stream, "localhost").await.unwrap();
        let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: a\r\n{}Connection: close\r\n\r\n",
            authorization.unwrap_or_default()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        // Servers may close without TLS's own end.
        _ = stream.read_to_end(&mut response).await;
        String::from_utf8(response).unwrap()
    }

    #[tokio::test]
    async fn metrics_for_other_machines_need_tls_a_token_and_a_permission() {
        let cluster = TestCluster::builder().rbac().start().await;
        let (stranger, scraper) = (token(&cluster, "a").await, token(&cluster, "scraper").await);
        let role: ClusterRole = serde_json::from_value(json!({
            "metadata": {"name": "metrics-reader"},
            "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
        }))
        .unwrap();
        let binding: ClusterRoleBinding = serde_json::from_value(json!({
            "metadata": {"name": "metrics-reader"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics-reader",
            },
            "subjects": [{"kind": "ServiceAccount", "namespace": "shop", "name": "scraper"}],
        }))
        .unwrap();
        let roles: Api<ClusterRole> = Api::all(cluster.client());
        roles.create(&Default::default(), &role).await.unwrap();
        let bindings: Api<ClusterRoleBinding> = Api::all(cluster.client());
        bindings
            .create(&Default::default(), &binding)
            .await
            .unwrap();

        let manager = Manager::new(cluster.client());
        let address = free_address().await;
        let flags = flags(&["--metrics-secure", "--metrics-bind-address", &address]);
        let served = serve(&manager, &flags, manager.routes(), cluster.client());
        served.await.unwrap();
        let running = cluster.run(&manager);

        let response = metrics(&address, None).await;
        assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
        assert!(response.ends_with("\r\n\r\nUnauthorized\n"), "{response}");
        let response = metrics(&address, Some("garbage")).await;
        assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
        let response = metrics(&address, Some(&stranger)).await;
        assert!(response.starts_with("HTTP/1.1 403 "), "{response}");
        let denied = "Authorization denied for user system:serviceaccount:shop:a\n";
        assert!(response.ends_with(denied), "{response}");
        // The second response comes from the cache.
        for _ in 0..2 {
            let response = metrics(&address, Some(&scraper)).await;
            assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
            assert!(
                response.contains("\nprocess_cpu_seconds_total "),
                "{response}"
            );
        }
        running.stop().await.unwrap();
    }

    #[tokio::test]
    async fn a_program_that_may_not_create_reviews_serves_no_metrics() {
        let cluster = TestCluster::builder().rbac().start().await;
        let scraper = token(&cluster, "scraper").await;
        let manager = Manager::new(cluster.client());
        let address = free_address().await;
        let flags = flags(&["--metrics-secure", "--metrics-bind-address", &address]);
        let powerless = cluster.client_as("system:serviceaccount:shop:powerless");
        let served = serve(&manager, &flags, manager.routes(), powerless);
        served.await.unwrap();
        let running = cluster.run(&manager);
        let response = metrics(&address, Some(&scraper)).await;
        assert!(response.starts_with("HTTP/1.1 500 "), "{response}");
        assert!(
            response.ends_with("\r\n\r\nAuthentication failed\n"),
            "{response}"
        );
        running.stop().await.unwrap();
    }
}

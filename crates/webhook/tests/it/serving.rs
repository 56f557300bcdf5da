//! A server beside a manager.

use std::time::SystemTime;

use kubewright_cluster::SelfSigned;
use kubewright_controller::Manager;
use kubewright_testing::TestCluster;
use kubewright_webhook::{Certificates, WebhookServer};
use tokio::net::{TcpListener, TcpStream};

use crate::captain::webhooks;

#[tokio::test]
async fn a_manager_is_ready_once_its_webhooks_are_served() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let made = SelfSigned::generate(["127.0.0.1"], SystemTime::now()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let certificates = Certificates::pem(made.certificate_pem, made.key_pem);
    let server = WebhookServer::new(webhooks(), certificates);
    server.add_to(&manager, listener).unwrap();
    let report = manager.readyz().report("webhook", "").await;
    assert_eq!(report.status, 500);
    let watched = manager.clone();
    let until_ready = async move {
        while watched.readyz().report("webhook", "").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    manager.run(until_ready).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_manager_without_a_usable_certificate_ends_with_the_reason() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = WebhookServer::new(webhooks(), Certificates::pem("no", "key"));
    server.add_to(&manager, listener).unwrap();
    let error = manager.run(std::future::pending()).await.unwrap_err();
    assert!(
        error.to_string().contains("the certificate cannot be used"),
        "{error}"
    );
}

//! The store of an extension server, opened by its flags for etcd.

use kubewright_extension_apiserver::{OpenStoreError, ServerFlags, ServerStore};
use kubewright_store::{Key, Payload, Revision};

use crate::{door, empty};

async fn open(flags: &[&str]) -> Result<ServerStore, OpenStoreError> {
    ServerFlags::parse(flags).unwrap().store.open("sky").await
}

/// Returns a custom resource as servers store it.
fn comet() -> Payload {
    let before =
        r#"{"kind":"Comet","apiVersion":"sky.example.com/v1","metadata":{"resourceVersion":""#;
    Payload {
        revision_at: Some(before.len() as u32),
        ..Payload::plain(format!(r#"{before}","name":"halley"}}}}"#))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_of_an_extension_server_share_an_etcd() {
    let (door, _) = door(&empty()).await;
    let servers = format!("--etcd-servers=http://{}", door.address());
    let one = open(&[&servers]).await.unwrap().store();
    let other = open(&[&servers, "--etcd-prefix=/registry/sky"])
        .await
        .unwrap()
        .store();
    let elsewhere = open(&[&servers, "--etcd-prefix", "/other"])
        .await
        .unwrap()
        .store();
    let key = Key::new("sky.example.com/comets", "halley");
    let created = one.create(key.clone(), comet()).await.unwrap();
    let read = other.get(&key).await.unwrap().expect("the same prefix");
    assert_eq!(
        (read.revision, &read.bytes),
        (created.revision, &created.bytes)
    );
    assert!(elsewhere.get(&key).await.unwrap().is_none());
    let deleted = other.delete(key.clone(), created.revision).await.unwrap();
    assert!(deleted.revision > Revision(created.revision.0));
    assert!(one.get(&key).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unusable_etcd_is_an_error_of_the_flags() {
    for (flags, expected) in [
        (
            ["--etcd-servers=localhost", "--etcd-prefix=/x"],
            "is not the URL of an etcd member",
        ),
        (
            ["--etcd-servers=http://127.0.0.1:1", "--etcd-prefix=x"],
            "is not a prefix of keys",
        ),
        (
            ["--etcd-servers=https://127.0.0.1:1", "--etcd-prefix=/x"],
            "needs the certificate authority of etcd",
        ),
        (
            [
                "--etcd-servers=https://127.0.0.1:1",
                "--etcd-cafile=missing.crt",
            ],
            "missing.crt",
        ),
    ] {
        let error = open(&flags).await.err().expect("an error").to_string();
        assert!(error.contains(expected), "{flags:?}: {error}");
        assert_eq!(error.lines().count(), 1);
    }
}

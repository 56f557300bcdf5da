//! Errors for an unusable etcd: one sentence states the problem and the remedy, and nothing is written.

use std::{convert::Infallible, fs, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_store::{Key, Payload, Store, layout::PlainLayout};
use kubewright_store_etcd::{EtcdStore, OpenError, Options, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio::{net::TcpListener, time::Instant};

use crate::etcd::{Directory, Etcd, open, prefix};

async fn refused(options: &Options) -> OpenError {
    let opened = EtcdStore::connect(options, Arc::new(PlainLayout)).await;
    let error = opened.expect_err("it must not be opened");
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    error
}

fn key(path: &str) -> Key {
    Key::new("things", path)
}

fn object(size: usize) -> Payload {
    Payload::plain("x".repeat(size))
}

/// Runs the commands of `etcdctl auth`.
async fn enable_auth(etcd: &Etcd, prefix: &str) {
    use base64::{Engine, prelude::BASE64_STANDARD};
    let (key, end) = (format!("{prefix}/"), format!("{prefix}0"));
    let (key, end) = (BASE64_STANDARD.encode(key), BASE64_STANDARD.encode(end));
    let permission = format!(
        r#"{{"name": "app", "perm": {{"permType": "READWRITE", "key": "{key}", "range_end": "{end}"}}}}"#
    );
    for (path, body) in [
        ("auth/role/add", r#"{"name": "root"}"#),
        ("auth/user/add", r#"{"name": "root", "password": "root"}"#),
        ("auth/user/grant", r#"{"user": "root", "role": "root"}"#),
        ("auth/role/add", r#"{"name": "app"}"#),
        ("auth/role/grant", &permission),
        ("auth/user/add", r#"{"name": "app", "password": "secret"}"#),
        ("auth/user/grant", r#"{"user": "app", "role": "app"}"#),
        ("auth/enable", "{}"),
    ] {
        let answer = etcd.gateway(path, body).await;
        assert!(answer["code"].is_null(), "{path}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_credentials_are_one_sentence() {
    let name = "errors_of_credentials_are_one_sentence";
    // Logins expire after a second, and are renewed.
    let Some(etcd) = Etcd::start(name, &["--auth-token-ttl=1"]).await else {
        return;
    };
    let options = etcd.options();
    enable_auth(&etcd, &options.prefix).await;
    let with = |user: Option<(&str, &str)>| Options {
        user: user.map(|(name, password)| (name.to_owned(), password.to_owned())),
        ..options.clone()
    };
    for (user, other) in [
        (None, None),
        (Some(("app", "wrong")), None),
        (Some(("nobody", "secret")), None),
        (Some(("app", "secret")), Some(prefix())),
    ] {
        let mut options = with(user);
        options.prefix = other.unwrap_or(options.prefix);
        let error = refused(&options).await;
        assert!(matches!(error, OpenError::Credentials(_)), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains("use a user that may read and write"),
            "{text}"
        );
        assert!(
            !text.contains("secret") && !text.contains("wrong"),
            "{text}"
        );
    }
    let store = open(&with(Some(("app", "secret")))).await;
    let began = Instant::now();
    let mut written = 0;
    while began.elapsed() < Duration::from_millis(2500) {
        written += 1;
        let created = store.create(key(&written.to_string()), object(1)).await;
        created.unwrap();
        assert!(
            store
                .get(&key(&written.to_string()))
                .await
                .unwrap()
                .is_some()
        );
    }
    let listed = store.snapshot(None).await.unwrap();
    assert_eq!(listed.count("things", "").await.unwrap(), written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_a_full_database_state_the_remedy() {
    let name = "errors_of_a_full_database_state_the_remedy";
    let Some(etcd) = Etcd::start(name, &["--quota-backend-bytes=2097152"]).await else {
        return;
    };
    let options = etcd.options();
    let store = open(&options).await;
    let mut last = store.create(key("a"), object(100_000)).await.unwrap();
    let error = loop {
        let value = format!("{}{}", last.revision.0, "x".repeat(100_000));
        let payload = Payload::plain(value);
        match store.update(key("a"), last.revision, payload).await {
            Ok(updated) => last = updated.entry,
            Err(error) => break error.to_string(),
        }
        assert!(last.revision.0 < 1000, "no write is refused");
    };
    assert!(error.contains("etcd's database is full"), "{error}");
    assert!(error.contains("etcdctl defrag"), "{error}");
    // Reads succeed, and the rejected write had no effect.
    let read = store.get(&key("a")).await.unwrap().unwrap();
    assert_eq!(read.revision, last.revision);
    let error = refused(&options).await;
    assert!(matches!(error, OpenError::Alarm { .. }), "{error:?}");
    assert!(
        error.to_string().contains("etcdctl alarm disarm"),
        "{error}"
    );
    // The remedy in the message works.
    let physical = format!(r#"{{"revision": "{}", "physical": true}}"#, last.revision.0);
    etcd.gateway("kv/compaction", &physical).await;
    etcd.gateway("maintenance/defragment", "{}").await;
    let status = etcd.gateway("maintenance/status", "{}").await;
    let member = &status["header"]["member_id"];
    let alarm = format!(r#"{{"action": "DEACTIVATE", "memberID": {member}, "alarm": "NOSPACE"}}"#);
    etcd.gateway("maintenance/alarm", &alarm).await;
    store
        .update(key("a"), last.revision, object(7))
        .await
        .unwrap();
    open(&options).await;
}

/// A certificate authority.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { issuer, pem }
    }

    /// Writes a certificate for this machine, and its key. Returns their paths.
    fn sign(&self, folder: &Directory, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        let certificate = write(folder, &format!("{name}.crt"), &signed.pem());
        let key = write(folder, &format!("{name}.key"), &key.serialize_pem());
        (certificate, key)
    }
}

fn write(folder: &Directory, name: &str, text: &str) -> String {
    let path = folder.0.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_certificates_are_one_sentence() {
    let name = "errors_of_certificates_are_one_sentence";
    let folder = Directory::new();
    let (authority, stranger) = (Authority::new("etcd-ca"), Authority::new("other-ca"));
    let ca = write(&folder, "ca.crt", &authority.pem);
    let other_ca = write(&folder, "other-ca.crt", &stranger.pem);
    let (certificate, key) = authority.sign(&folder, "server");
    let args = [
        &*format!("--cert-file={certificate}"),
        &format!("--key-file={key}"),
        &format!("--trusted-ca-file={ca}"),
        "--client-cert-auth",
    ];
    let Some(mut etcd) = Etcd::prepared(name, "https", &args) else {
        return;
    };
    etcd.restart().await;
    let client = authority.sign(&folder, "client");
    let foreign = stranger.sign(&folder, "foreign");
    let options = |ca: &str, pair: Option<&(String, String)>| Options {
        tls: TlsFiles {
            ca: Some(ca.into()),
            certificate: pair.map(|(certificate, _)| certificate.into()),
            key: pair.map(|(_, key)| key.into()),
        },
        ..etcd.options()
    };
    for (ca, pair) in [
        (&other_ca, Some(&client)),
        (&ca, None),
        (&ca, Some(&foreign)),
    ] {
        let error = refused(&options(ca, pair)).await;
        assert!(matches!(error, OpenError::Unreachable(_)), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains("check the addresses, the certificates"),
            "{text}"
        );
    }
    // A mismatch of key and certificate is detected before anything is sent.
    let mixed = (client.0.clone(), foreign.1.clone());
    let error = refused(&options(&ca, Some(&mixed))).await;
    assert!(matches!(error, OpenError::Tls(_)), "{error:?}");
    let store = open(&options(&ca, Some(&client))).await;
    store.create(self::key("a"), object(1)).await.unwrap();
}

/// Responds to every call with the status of a member of a version. Returns its URL.
async fn member_of_version(version: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = move |_: Request<Incoming>| async move {
                let mut message = vec![0x0a, 2, 0x08, 1, 0x12, version.len() as u8];
                message.extend_from_slice(version.as_bytes());
                let mut frame = vec![0, 0, 0, 0, message.len() as u8];
                frame.extend(message);
                let mut trailers = http::HeaderMap::new();
                trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
                let body = Full::new(Bytes::from(frame));
                let body = body.with_trailers(async move { Some(Ok(trailers)) });
                let response = Response::builder().header("content-type", "application/grpc");
                Ok::<_, Infallible>(response.body(body).unwrap())
            };
            let builder = http2::Builder::new(TokioExecutor::new());
            let serving = builder.serve_connection(TokioIo::new(stream), service_fn(answer));
            tokio::spawn(serving);
        }
    });
    url
}

#[tokio::test]
async fn old_members_are_rejected() {
    for version in ["3.4.23", "3.5.12"] {
        let url = member_of_version(version).await;
        let error = refused(&Options::new([url])).await;
        let OpenError::Version { version: told, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(told, version);
        assert!(
            error
                .to_string()
                .contains("use 3.4.31, 3.5.13, 3.6 or newer"),
            "{error}"
        );
    }
}

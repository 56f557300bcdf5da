//! Certificates of three replicas over a year of virtual time, and what happens to a Secret that is lost.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use jiff::SignedDuration;
use k8s_openapi::{
    api::{admissionregistration::v1::ValidatingWebhookConfiguration, core::v1::Secret},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Api, api::PostParams};
use kubewright_apiserver::Clock as _;
use kubewright_testing::TestCluster;
use kubewright_x509::Certificate;
use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use serde_json::json;
use tokio::task::JoinHandle;

use super::{issue::Issued, *};

const NAMESPACE: &str = "default";
const SERVICE: &str = "crew-webhook-service";
const CONFIGURATION: &str = "crew-validating-webhook-configuration";

const HOUR: Duration = Duration::from_secs(3600);

/// A replica of the operator. It is stopped when it is dropped.
struct Replica {
    presented: Arc<Presented>,
    keeping: JoinHandle<()>,
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

impl Replica {
    /// Starts a replica whose clock is off by some hours.
    async fn start(cluster: &TestCluster, off: i64) -> Self {
        let clock = cluster.clock().clone();
        let managed = ManagedCertificates::new(cluster.client(), NAMESPACE, SERVICE)
            .validating_configuration(CONFIGURATION)
            .interval(2 * HOUR)
            .clock(Arc::new(move || {
                clock.now() + SignedDuration::from_hours(off)
            }));
        let presented = Arc::new(managed.obtain().await.unwrap());
        let kept = presented.clone();
        Self {
            presented,
            keeping: tokio::spawn(async move { managed.keep(&kept).await }),
        }
    }
}

/// Creates a configuration with one entry for the operator's Service, and one for another.
async fn configure(cluster: &TestCluster) {
    let webhook = |name: &str, service: &str| {
        json!({
            "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"service": {"namespace": NAMESPACE, "name": service}},
        })
    };
    let configuration = json!({
        "metadata": {"name": CONFIGURATION},
        "webhooks": [webhook("a.example.com", SERVICE), webhook("b.example.com", "other")],
    });
    let configuration = serde_json::from_value(configuration).unwrap();
    configurations(cluster)
        .create(&PostParams::default(), &configuration)
        .await
        .unwrap();
}

fn configurations(cluster: &TestCluster) -> Api<ValidatingWebhookConfiguration> {
    Api::all(cluster.client())
}

fn secrets(cluster: &TestCluster) -> Api<Secret> {
    Api::default_namespaced(cluster.client())
}

/// Returns the bundle that the API server trusts.
async fn bundle(cluster: &TestCluster) -> Vec<u8> {
    let configuration = configurations(cluster).get(CONFIGURATION).await.unwrap();
    let mut webhooks = configuration.webhooks.unwrap().into_iter();
    let bundle = webhooks.next().unwrap().client_config.ca_bundle.unwrap().0;
    assert_eq!(webhooks.next().unwrap().client_config.ca_bundle, None);
    bundle
}

/// Verifies a certificate as an API server does that calls the Service.
fn verify(certificate: &[u8], bundle: &[u8], now: i64) {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle) {
        roots.add(authority.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let name = ServerName::try_from(format!("{SERVICE}.{NAMESPACE}.svc")).unwrap();
    let now = Duration::from_secs(u64::try_from(now).unwrap());
    let certificate = CertificateDer::from_pem_slice(certificate).unwrap();
    verifier
        .build()
        .unwrap()
        .verify_server_cert(
            &certificate,
            &[],
            &name,
            &[],
            UnixTime::since_unix_epoch(now),
        )
        .unwrap();
}

/// Calls all replicas, as an API server would.
struct Caller {
    seen: BTreeSet<(Vec<u8>, Vec<u8>)>,
}

impl Caller {
    async fn call(&mut self, cluster: &TestCluster, replicas: &[Replica]) {
        let (bundle, now) = (bundle(cluster).await, cluster.time().now().as_second());
        for replica in replicas {
            let certificate = replica.presented.certificate();
            replica.presented.check(now).unwrap();
            if self.seen.insert((certificate.clone(), bundle.clone())) {
                verify(&certificate, &bundle, now);
            }
        }
    }
}

/// Returns the time at which the next certificate of the Secret is due.
async fn next_due(cluster: &TestCluster) -> i64 {
    let data = secrets(cluster)
        .get(&format!("{SERVICE}-cert"))
        .await
        .unwrap()
        .data
        .unwrap();
    let due = |key: &str| {
        let validity = Certificate::from_pem(&data[key].0).unwrap().validity();
        validity.not_before + (validity.not_after - validity.not_before) / 3 * 2
    };
    due("ca.crt").min(due("tls.crt"))
}

#[tokio::test(start_paused = true)]
async fn a_year_of_certificates_on_three_replicas_refuses_no_review() {
    let cluster = TestCluster::start().await;
    configure(&cluster).await;
    // All start at once, with clocks that differ by two hours.
    let [a, b, c] = [0, -1, 1].map(|off| Replica::start(&cluster, off));
    let (a, b, c) = tokio::join!(a, b, c);
    assert_eq!(a.presented.certificate(), b.presented.certificate());
    assert_eq!(a.presented.certificate(), c.presented.certificate());
    let mut replicas = [a, b, c];
    let mut caller = Caller {
        seen: BTreeSet::new(),
    };
    let end = cluster.time().now() + SignedDuration::from_hours(370 * 24);
    let (mut restarts, mut due, mut busy_until) = (0, 0, 0);
    while cluster.time().now() < end {
        caller.call(&cluster, &replicas).await;
        let (next, now) = (next_due(&cluster).await, cluster.time().now().as_second());
        if next != due {
            // The other replicas follow when they look next.
            (due, busy_until) = (next, now + 7800);
        }
        // A clock is ahead by an hour.
        let step = match (next - 3700 - now).min(6 * 3600) {
            _ if now < busy_until => 37,
            quiet => quiet.max(37).unsigned_abs(),
        };
        cluster.time().advance(Duration::from_secs(step)).await;
        // A replica is restarted now and then.
        if cluster.time().now().as_second() / (20 * 86_400) > restarts {
            restarts = cluster.time().now().as_second() / (20 * 86_400);
            let n = usize::try_from(restarts).unwrap() % 3;
            replicas[n] = Replica::start(&cluster, 0).await;
        }
    }
    let certificates: BTreeSet<_> = caller.seen.iter().map(|(leaf, _)| leaf).collect();
    let authorities: BTreeSet<_> = caller
        .seen
        .iter()
        .flat_map(|(_, bundle)| issue::certificates(bundle))
        .collect();
    assert!(certificates.len() >= 6, "{}", certificates.len());
    assert_eq!(authorities.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_lost_or_spoilt_is_made_anew_and_no_review_is_refused() {
    let cluster = TestCluster::start().await;
    configure(&cluster).await;
    let replicas = [
        Replica::start(&cluster, 0).await,
        Replica::start(&cluster, 0).await,
    ];
    let mut caller = Caller {
        seen: BTreeSet::new(),
    };
    let name = format!("{SERVICE}-cert");
    for round in 0..4 {
        let spoilt = Secret {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                ..ObjectMeta::default()
            },
            ..Secret::default()
        };
        let (secrets, params) = (secrets(&cluster), PostParams::default());
        secrets.delete(&name, &Default::default()).await.unwrap();
        if round % 2 == 1 {
            secrets.create(&params, &spoilt).await.unwrap();
        }
        for _ in 0..900 {
            caller.call(&cluster, &replicas).await;
            cluster.time().advance(Duration::from_secs(12)).await;
        }
        let [a, b] = &replicas;
        assert_eq!(a.presented.certificate(), b.presented.certificate());
    }
    let certificates: BTreeSet<_> = caller.seen.iter().map(|(leaf, _)| leaf).collect();
    assert_eq!(certificates.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn files_that_are_replaced_are_presented_once_they_fit() {
    let directory = std::env::temp_dir().join(format!("kubewright-files-{}", std::process::id()));
    let names = ["a.b.svc".to_owned()];
    let now = jiff::Timestamp::now().as_second();
    let [old, new] = [(); 2].map(|()| Issued::new(&names, &[], now).unwrap());
    let write = |file: &str, text: &str| std::fs::write(directory.join(file), text).unwrap();
    std::fs::create_dir_all(&directory).unwrap();
    write("tls.crt", &old.certificate);
    write("tls.key", &old.key);
    let certificates = Certificates::directory(&directory);
    let presented = Arc::new(certificates.obtain().await.unwrap());
    let kept = presented.clone();
    let keeping = tokio::spawn(async move { certificates.keep(&kept).await });
    let later = Duration::from_secs(25);

    // Only one of the files is written yet.
    write("tls.crt", &new.certificate);
    tokio::time::sleep(later).await;
    assert_eq!(presented.certificate(), old.certificate.as_bytes());
    write("tls.key", &new.key);
    tokio::time::sleep(later).await;
    assert_eq!(presented.certificate(), new.certificate.as_bytes());
    assert_eq!(presented.check(now), Ok(()));
    assert!(presented.check(now + 100 * 86_400).is_err());
    keeping.abort();
    std::fs::remove_dir_all(&directory).unwrap();
}

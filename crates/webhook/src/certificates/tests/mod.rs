//! Certificates of three replicas over a year of virtual time, and recovery from a lost Secret.

mod replica;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use k8s_openapi::{
    api::{admissionregistration::v1::ValidatingWebhookConfiguration, core::v1::Secret},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Api, api::PostParams};
use kubewright_testing::TestCluster;
use kubewright_x509::{Certificate, pem};
use serde_json::json;

use self::replica::Replica;
use super::{issue::Issued, *};

const NAMESPACE: &str = "default";
const SERVICE: &str = "crew-webhook-service";
const CONFIGURATION: &str = "crew-validating-webhook-configuration";
const SECRET: &str = "crew-webhook-service-cert";

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The polling interval of a replica.
const INTERVAL: i64 = DAY;

/// The longest time between two reviews.
const QUIET: i64 = DAY;

/// The time between two reviews while replicas replace their certificates, which takes ten seconds.
const STEP: i64 = 4;

/// The time after which a replica has replaced its certificate.
const REPLACED: i64 = 24;

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

/// An operator with several replicas, and a client that sends reviews to all of them.
struct Operator {
    cluster: TestCluster,
    replicas: Vec<Replica>,
    /// The certificates that replicas presented, and the authorities that the client trusted.
    presented: BTreeSet<Vec<u8>>,
    trusted: BTreeSet<String>,
    /// The number of reviews that were allowed.
    reviews: usize,
}

impl Operator {
    /// Starts the replicas concurrently, with clocks that are off by some hours.
    async fn start(clocks: &[i64]) -> Self {
        let cluster = TestCluster::start().await;
        configure(&cluster).await;
        let mut operator = Self {
            cluster,
            replicas: Vec::new(),
            presented: BTreeSet::new(),
            trusted: BTreeSet::new(),
            reviews: 0,
        };
        for off in clocks {
            let replica = operator.replica(*off).await;
            operator.replicas.push(replica);
        }
        for replica in &operator.replicas {
            replica.ready().await;
        }
        operator
    }

    async fn replica(&self, off: i64) -> Replica {
        let interval = Duration::from_secs(INTERVAL.unsigned_abs());
        Replica::start(&self.cluster, interval, off).await
    }

    fn now(&self) -> i64 {
        self.cluster.time().now().as_second()
    }

    /// Sends a review to every replica, and returns the certificates that they present.
    async fn review(&mut self) -> BTreeSet<Vec<u8>> {
        let (bundle, now) = (bundle(&self.cluster).await, self.now());
        let mut presented = BTreeSet::new();
        for replica in &self.replicas {
            presented.insert(replica.review(&bundle, now).await);
            self.reviews += 1;
        }
        self.trusted.extend(issue::certificates(&bundle));
        self.presented.extend(presented.iter().cloned());
        presented
    }

    /// Sends reviews and advances time to the next possible change, but not beyond `end`.
    async fn pass(&mut self, end: i64) {
        let presented = self.review().await;
        let stored = stored(&self.cluster).await;
        let now = self.now();
        let settled = stored
            .as_ref()
            .is_some_and(|stored| presented == BTreeSet::from([stored.certificate.clone()]));
        // A clock may be an hour ahead.
        let due = stored.map_or(0, |stored| stored.due - HOUR);
        let looks = self.replicas.iter().map(|replica| match settled {
            true => {
                let looks = (due - replica.looked() + INTERVAL - 1) / INTERVAL;
                replica.looked() + looks.max(1) * INTERVAL
            }
            false => replica.looked() + INTERVAL,
        });
        let next = looks.min().unwrap_or(end) - 1;
        let replacing = |replica: &Replica| now < replica.looked() + REPLACED;
        let step = match next - now {
            _ if !settled && self.replicas.iter().any(replacing) => STEP,
            quiet => quiet.clamp(STEP, QUIET),
        };
        let step = step.min(end - now).max(1);
        let step = Duration::from_secs(step.unsigned_abs());
        self.cluster.time().advance(step).await;
    }
}

/// The contents of the Secret.
struct Stored {
    certificate: Vec<u8>,
    /// The time at which the next certificate is due.
    due: i64,
}

/// Returns the contents of the Secret, or `None` if they are unusable.
async fn stored(cluster: &TestCluster) -> Option<Stored> {
    let data = secrets(cluster).get_opt(SECRET).await.unwrap()?.data?;
    let due = |key: &str| {
        let validity = Certificate::from_pem(&data[key].0).unwrap().validity();
        validity.not_before + (validity.not_after - validity.not_before) / 3 * 2
    };
    let certificate = pem::blocks(&data["tls.crt"].0).next()?.contents;
    Some(Stored {
        certificate,
        due: due("ca.crt").min(due("tls.crt")),
    })
}

#[tokio::test(start_paused = true)]
async fn no_review_fails_in_a_year_of_certificates_on_three_replicas() {
    // The clocks differ by two hours.
    let mut operator = Operator::start(&[0, -1, 1]).await;
    assert_eq!(operator.review().await.len(), 1);
    let end = operator.now() + 370 * DAY;
    let mut restarts = operator.now() / (20 * DAY);
    while operator.now() < end {
        operator.pass(end).await;
        // Replicas are restarted from time to time.
        if operator.now() / (20 * DAY) > restarts {
            restarts = operator.now() / (20 * DAY);
            let n = usize::try_from(restarts).unwrap() % 3;
            operator.replicas[n] = operator.replica(0).await;
            operator.replicas[n].ready().await;
        }
    }
    assert!(
        operator.presented.len() >= 6,
        "{}",
        operator.presented.len()
    );
    assert_eq!(operator.trusted.len(), 2);
    assert!(operator.reviews > 1000, "{}", operator.reviews);
}

#[tokio::test(start_paused = true)]
async fn no_review_fails_if_clocks_are_off_by_days() {
    let mut operator = Operator::start(&[5 * 24, -5 * 24, 0]).await;
    assert_eq!(operator.review().await.len(), 1);
    for replica in &operator.replicas {
        assert!(replica.is_ready(operator.now()));
    }
    let end = operator.now() + 70 * DAY;
    while operator.now() < end {
        operator.pass(end).await;
    }
    assert_eq!(operator.presented.len(), 2);
    assert_eq!(operator.trusted.len(), 1);
}

#[test]
fn a_certificate_that_is_not_valid_yet_is_replaced() {
    let names = ["a.b.svc".to_owned()];
    let now = jiff::Timestamp::now().as_second();
    let early = Issued::new(&names, &[], now + 3 * DAY).unwrap();
    let next = early.renewed(&names, &[], now).unwrap().unwrap();
    let serving = Certificate::from_pem(next.certificate.as_bytes()).unwrap();
    assert!(serving.validity().not_before <= now);
    assert_eq!(next.authorities[1], early.authorities[0]);
    assert!(next.renewed(&names, &[], now).unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn no_review_fails_when_the_secret_is_lost_or_corrupted() {
    let mut operator = Operator::start(&[0, 0]).await;
    operator.review().await;
    for round in 0..4 {
        let (secrets, params) = (secrets(&operator.cluster), PostParams::default());
        secrets.delete(SECRET, &Default::default()).await.unwrap();
        if round % 2 == 1 {
            let spoilt = Secret {
                metadata: ObjectMeta {
                    name: Some(SECRET.to_owned()),
                    ..ObjectMeta::default()
                },
                ..Secret::default()
            };
            secrets.create(&params, &spoilt).await.unwrap();
        }
        // Half a day longer than both replicas need.
        let end = operator.now() + INTERVAL * 3 / 2;
        while operator.now() < end {
            operator.pass(end).await;
        }
        assert_eq!(operator.review().await.len(), 1);
    }
    assert_eq!(operator.presented.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn replaced_files_are_presented_once_they_match() {
    let directory = std::env::temp_dir().join(format!("kubewright-files-{}", std::process::id()));
    let names = ["a.b.svc".to_owned()];
    let now = jiff::Timestamp::now().as_second();
    let [old, new] = [(); 2].map(|()| Issued::new(&names, &[], now).unwrap());
    let write = |file: &str, text: &str| std::fs::write(directory.join(file), text).unwrap();
    std::fs::create_dir_all(&directory).unwrap();
    write("tls.crt", &old.certificate);
    write("tls.key", &old.key);
    let reads = ReadMetrics::default();
    let registry = kubewright_metrics::Registry::new();
    reads.register(&registry);
    let certificates = Certificates::directory(&directory).with_metrics(&reads);
    let presented = Arc::new(certificates.obtain().await.unwrap());
    let kept = presented.clone();
    let keeping = tokio::spawn(async move { certificates.keep(&kept).await });
    let later = Duration::from_secs(25);

    // Only one of the files has been written so far.
    write("tls.crt", &new.certificate);
    tokio::time::sleep(later).await;
    assert_eq!(presented.certificate(), old.certificate.as_bytes());
    let scrape = registry.encode();
    for line in [
        "certwatcher_read_certificate_total 3\n",
        "certwatcher_read_certificate_errors_total 2\n",
    ] {
        assert!(scrape.contains(line), "{scrape}");
    }
    write("tls.key", &new.key);
    tokio::time::sleep(later).await;
    assert_eq!(presented.certificate(), new.certificate.as_bytes());
    assert_eq!(presented.check(now), Ok(()));
    assert!(presented.check(now + 100 * 86_400).is_err());
    keeping.abort();
    std::fs::remove_dir_all(&directory).unwrap();
}

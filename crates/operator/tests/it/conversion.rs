//! Conversion between three versions of a kind: as functions, on a test cluster, and over TLS. For a deployed operator, see
//! [`deployed`](crate::deployed).

use std::{
    fs,
    time::{Duration, SystemTime},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use kubewright_cluster::SelfSigned;
use kubewright_operator::{Operator, OperatorError};
use kubewright_testing::{TestCluster, WebhookFault};
use kubewright_webhook::{Certificates, WebhookServer};
use serde_json::json;
use tokio::net::TcpListener;

pub(crate) mod v1 {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "crew.example.com",
        version = "v1",
        kind = "Captain",
        namespaced
    )]
    pub(crate) struct CaptainSpec {
        pub(crate) ship: String,
    }
}

pub(crate) mod v2 {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "crew.example.com",
        version = "v2",
        kind = "Captain",
        namespaced
    )]
    #[kube(storage = false)]
    pub(crate) struct CaptainSpec {
        pub(crate) vessel: String,
    }
}

pub(crate) mod v3 {
    use kube::CustomResource;
    use kubewright::Schema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    #[kube(
        group = "crew.example.com",
        version = "v3",
        kind = "Captain",
        namespaced
    )]
    #[kube(storage = false)]
    pub(crate) struct CaptainSpec {
        pub(crate) vessels: Vec<String>,
    }
}

impl From<v1::Captain> for v2::Captain {
    fn from(old: v1::Captain) -> Self {
        let spec = v2::CaptainSpec {
            vessel: old.spec.ship,
        };
        Self {
            metadata: old.metadata,
            spec,
        }
    }
}

impl From<v2::Captain> for v1::Captain {
    fn from(new: v2::Captain) -> Self {
        let spec = v1::CaptainSpec {
            ship: new.spec.vessel,
        };
        Self {
            metadata: new.metadata,
            spec,
        }
    }
}

impl From<v2::Captain> for v3::Captain {
    fn from(old: v2::Captain) -> Self {
        let spec = v3::CaptainSpec {
            vessels: vec![old.spec.vessel],
        };
        Self {
            metadata: old.metadata,
            spec,
        }
    }
}

impl TryFrom<v3::Captain> for v2::Captain {
    type Error = &'static str;

    fn try_from(new: v3::Captain) -> Result<Self, Self::Error> {
        let mut vessels = new.spec.vessels.into_iter();
        match (vessels.next(), vessels.next()) {
            (Some(vessel), None) => Ok(Self {
                metadata: new.metadata,
                spec: v2::CaptainSpec { vessel },
            }),
            _ => Err("v2 holds only one vessel"),
        }
    }
}

pub(crate) fn register(operator: &mut Operator) {
    operator.api::<v1::Captain>();
    operator.api::<v2::Captain>();
    operator.api::<v3::Captain>();
    operator.conversion::<v1::Captain, v2::Captain>();
    operator.conversion::<v2::Captain, v3::Captain>();
}

/// Writes an object in the storage version and reads it in another, and the reverse.
async fn assert_converted_both_ways(cluster: &TestCluster) {
    let old: Api<v1::Captain> = Api::default_namespaced(cluster.client());
    let newest: Api<v3::Captain> = Api::default_namespaced(cluster.client());
    let spec = v1::CaptainSpec {
        ship: "pequod".into(),
    };
    let made = v1::Captain::new("ahab", spec);
    let made = old.create(&PostParams::default(), &made).await.unwrap();
    let seen = newest.get("ahab").await.unwrap();
    assert_eq!(seen.spec.vessels, ["pequod"]);
    assert_eq!(seen.metadata.uid, made.metadata.uid);

    let renamed = Patch::Merge(json!({"spec": {"vessels": ["nautilus"]}}));
    newest
        .patch("ahab", &PatchParams::default(), &renamed)
        .await
        .unwrap();
    assert_eq!(old.get("ahab").await.unwrap().spec.ship, "nautilus");
    let listed = newest.list(&Default::default()).await.unwrap();
    assert_eq!(listed.items[0].spec.vessels, ["nautilus"]);

    let too_many = Patch::Merge(json!({"spec": {"vessels": ["a", "b"]}}));
    let error = newest
        .patch("ahab", &PatchParams::default(), &too_many)
        .await
        .unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("conversion webhook for crew.example.com/v3, Kind=Captain failed: "),
        "{message}"
    );
    assert!(
        message.contains("converting from v3 to v2: v2 holds only one vessel"),
        "{message}"
    );
    assert_eq!(old.get("ahab").await.unwrap().spec.ship, "nautilus");
}

#[test]
fn conversions_are_chained_through_a_shared_version() {
    let converter = Operator::new("crew", register).converter();
    assert_eq!(converter.crds(), ["captains.crew.example.com"]);
    let object = |version: &str, spec: serde_json::Value| {
        json!({"apiVersion": format!("crew.example.com/{version}"), "kind": "Captain",
            "metadata": {"name": "ahab", "uid": "1"}, "spec": spec})
    };
    let newest = converter.convert(
        &object("v1", json!({"ship": "pequod"})),
        "crew.example.com/v3",
    );
    assert_eq!(
        newest.unwrap(),
        object("v3", json!({"vessels": ["pequod"]}))
    );
    let same = converter.convert(&object("v2", json!({"vessel": "a"})), "crew.example.com/v2");
    assert_eq!(same.unwrap()["spec"]["vessel"], "a");
    for (from, to, why) in [
        ("v1", "crew.example.com/v9", "version v9 is not known"),
        ("v9", "crew.example.com/v1", "version v9 is not known"),
        (
            "v1",
            "other.example.com/v1",
            "crew.example.com/v1, Kind=Captain cannot be converted to other.example.com/v1: another kind",
        ),
    ] {
        let error = converter.convert(&object(from, json!({})), to).unwrap_err();
        assert_eq!(error.to_string(), why);
    }
}

#[test]
fn types_of_different_kinds_are_rejected() {
    mod other {
        use kube::CustomResource;
        use kubewright::Schema;
        use serde::{Deserialize, Serialize};

        #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
        #[kube(group = "crew.example.com", version = "v1", kind = "Mate", namespaced)]
        pub(super) struct MateSpec {
            pub(super) ship: String,
        }
    }
    impl From<v1::Captain> for other::Mate {
        fn from(one: v1::Captain) -> Self {
            other::Mate::new(
                "mate",
                other::MateSpec {
                    ship: one.spec.ship,
                },
            )
        }
    }
    impl From<other::Mate> for v1::Captain {
        fn from(one: other::Mate) -> Self {
            v1::Captain::new(
                "captain",
                v1::CaptainSpec {
                    ship: one.spec.ship,
                },
            )
        }
    }
    let operator = Operator::new("crew", |operator| {
        operator.conversion::<v1::Captain, other::Mate>();
    });
    let error = operator.model().unwrap_err();
    assert!(matches!(error, OperatorError::Conversion(..)), "{error}");
}

#[tokio::test]
async fn a_test_cluster_converts_objects() {
    let cluster = TestCluster::start().await;
    Operator::new("crew", register)
        .install_on(&cluster)
        .await
        .unwrap();
    assert_converted_both_ways(&cluster).await;
    let fork = cluster.fork().await;
    let newest: Api<v3::Captain> = Api::default_namespaced(fork.client());
    assert_eq!(newest.get("ahab").await.unwrap().spec.vessels, ["nautilus"]);
}

#[tokio::test(start_paused = true)]
async fn faults_affect_conversions() {
    let cluster = TestCluster::start().await;
    let operator = Operator::new("crew", register);
    operator.install_on(&cluster).await.unwrap();
    assert_converted_both_ways(&cluster).await;
    let newest: Api<v3::Captain> = Api::default_namespaced(cluster.client());
    let failed = "conversion webhook for crew.example.com/v1, Kind=Captain failed: ";
    let post = "Post \"https://crew-webhook-service.crew-system.svc:443/convert?timeout=30s\": ";
    for (fault, text) in [
        (
            WebhookFault::Down,
            format!("{failed}{post}dial tcp 127.0.0.1:443: connect: connection refused"),
        ),
        (
            WebhookFault::Slow(Duration::from_secs(31)),
            format!("{failed}{post}context deadline exceeded"),
        ),
        (
            WebhookFault::Denied("no room".into()),
            format!("{failed}no room"),
        ),
        (
            WebhookFault::Wrong("{}".into()),
            format!("{failed}expected webhook response"),
        ),
    ] {
        cluster.faults().inject_webhook(fault, "/convert", 1);
        let error = newest.get("ahab").await.unwrap_err().to_string();
        assert!(error.contains(&text), "{error}");
    }
    assert_eq!(cluster.faults().pending(), 0);

    let (before, slow) = (cluster.time().now(), Duration::from_secs(29));
    let faults = cluster.faults();
    faults.inject_webhook(WebhookFault::Slow(slow), "/convert", 1);
    assert_eq!(newest.get("ahab").await.unwrap().spec.vessels, ["nautilus"]);
    let took = cluster.time().now().duration_since(before);
    assert_eq!(took.as_secs(), 29);
}

#[tokio::test]
async fn a_cluster_calls_the_webhook_over_tls() {
    let directory = std::env::temp_dir().join(format!("kubewright-convert-{}", std::process::id()));
    let operator = Operator::new("crew", register);
    let server = || {
        let certificates = Certificates::directory(&directory);
        WebhookServer::new(operator.webhooks().unwrap(), certificates)
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let missing = server().serve(listener, async {}).await.unwrap_err();
    assert!(
        missing
            .to_string()
            .contains("cannot be used: tls.crt: No such file"),
        "{missing}"
    );
    let made = SelfSigned::generate(["127.0.0.1"], SystemTime::now()).unwrap();
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("tls.crt"), &made.certificate_pem).unwrap();
    fs::write(directory.join("tls.key"), &made.key_pem).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/convert", listener.local_addr().unwrap());
    let serving = tokio::spawn(server().serve(listener, std::future::pending()));

    let cluster = TestCluster::start().await;
    operator.install(cluster.client()).await.unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let webhook_config = json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"url": url, "caBundle": STANDARD.encode(&made.ca_pem)},
    }}}});
    let name = "captains.crew.example.com";
    crds.patch(name, &PatchParams::default(), &Patch::Merge(webhook_config))
        .await
        .unwrap();
    assert_converted_both_ways(&cluster).await;

    serving.abort();
    _ = serving.await;
    fs::remove_dir_all(&directory).unwrap();
    let newest: Api<v3::Captain> = Api::default_namespaced(cluster.client());
    let message = newest.get("ahab").await.unwrap_err().to_string();
    assert!(
        message.contains("failed: Post \"https://127.0.0.1:"),
        "{message}"
    );
}

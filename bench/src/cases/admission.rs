//! Creates through validating webhooks on loopback.

use std::{
    cell::Cell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::ensure;
use base64::{Engine, prelude::BASE64_STANDARD};
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_controller::Result;
use kubewright_webhook::{Admission, Certificates, Validator, Webhook, WebhookServer, Webhooks};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};

use super::{
    Bench, Case, ask, micros, on_one_thread,
    servers::{self, Servers, VALUE_BYTES, WARM_UP},
    try_ask,
};
use crate::{
    contest::Sample,
    endpoint::Endpoint,
    load::Load,
    requests::{self, Template},
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "admission",
    title: "creates through validating webhooks on loopback",
    what: "ConfigMaps of 512 bytes are created over one TLS connection, one after the other: without webhooks, through one and through \
           ten validating webhooks that allow everything at once, and through one and through ten that take 5 ms. The webhooks are \
           validators of ours, in the process of the load generator, on a thread of their own; every call is counted. What webhooks \
           add is the difference between the medians.",
    run,
};

/// The number of webhooks that are called side by side.
const MANY: u64 = 10;
/// The time that slow webhooks take.
const SLOWNESS: Duration = Duration::from_millis(5);
/// The time until a webhook must be called.
const PATIENCE: Duration = Duration::from_secs(20);
/// The interval between two looks whether it is.
const LOOK: Duration = Duration::from_millis(20);

const CONFIGURATIONS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
/// The name of the configuration.
const NAME: &str = "bench";

/// The paths of the webhooks.
const QUICK: &str = "/quick";
const SLOW: &str = "/slow";

/// The path and the number of the webhooks of each load.
const SETUPS: [(&str, u64); 5] = [
    (QUICK, 0),
    (QUICK, 1),
    (QUICK, MANY),
    (SLOW, 1),
    (SLOW, MANY),
];

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("none", "median without webhooks", "µs"),
        Row::cost("one_more", "added by one webhook", "µs").at_most(150.0),
        Row::cost("many_more", "added by ten webhooks", "µs"),
        Row::cost("slow_one", "median with one webhook that takes 5 ms", "ms"),
        Row::cost("slow_many", "median with ten that take 5 ms", "ms"),
        Row::cost("slow_times", "ten that take 5 ms, relative to one", "x").at_most(1.2),
    ];
    let time = Duration::from_millis(bench.size(1000, 300));
    let rounds = (Servers::Kept, bench.rounds(5));
    let hooks = Hooks::start()?;
    servers::contest(
        bench,
        section,
        rounds,
        async |_| Ok(()),
        async |endpoint, ()| {
            let namespace = servers::namespace(endpoint).await?;
            let creates = Creates {
                endpoint,
                hooks: &hooks,
                path: requests::config_maps(&namespace),
                next: Rc::default(),
            };
            let mut medians = [0.0; SETUPS.len()];
            for ((path, count), median) in SETUPS.iter().zip(&mut medians) {
                creates.configure(path, *count).await?;
                *median = micros(creates.median(*count, time).await?);
            }
            servers::check_count(endpoint, &creates.path, creates.next.get()).await?;
            let [none, one, many, slow_one, slow_many] = medians;
            let figures = [
                ("none", none),
                ("one_more", one - none),
                ("many_more", many - none),
                ("slow_one", slow_one / 1e3),
                ("slow_many", slow_many / 1e3),
                ("slow_times", slow_many / slow_one),
            ];
            let figures = figures.map(|(key, figure)| (key.to_owned(), figure));
            Ok(Sample {
                figures: figures.into(),
                ..Sample::default()
            })
        },
    );
    Ok(())
}

/// Creates ConfigMaps one after the other.
struct Creates<'a> {
    endpoint: &'a Endpoint,
    hooks: &'a Hooks,
    path: String,
    /// The number of the next ConfigMap.
    next: Rc<Cell<u64>>,
}

impl Creates<'_> {
    /// Lets the server call a number of webhooks at a path, and waits until it does.
    async fn configure(&self, path: &str, count: u64) -> anyhow::Result<()> {
        let one = format!("{CONFIGURATIONS}/{NAME}");
        let delete = Template::new(self.endpoint, "DELETE", &one, "");
        try_ask(self.endpoint, &delete).await?;
        let configuration = self.hooks.configuration(path, count).to_string();
        let create = Template::new(self.endpoint, "POST", CONFIGURATIONS, &configuration);
        ask(self.endpoint, &create, 201).await?;
        let target = format!("{}?dryRun=All", self.path);
        let body = requests::config_map_named("probe", VALUE_BYTES);
        let probe = Template::new(self.endpoint, "POST", &target, &body);
        let began = Instant::now();
        loop {
            let before = self.hooks.calls();
            ask(self.endpoint, &probe, 201).await?;
            if self.hooks.calls() - before == count {
                return Ok(());
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "the server does not call the webhooks"
            );
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Returns the median of creates, for each of which all webhooks must have been called.
    async fn median(&self, webhooks: u64, time: Duration) -> anyhow::Result<Duration> {
        let (first, before) = (self.next.get(), self.hooks.calls());
        let next = self.next.clone();
        let body = requests::config_map(VALUE_BYTES);
        let load = Load {
            endpoint: self.endpoint,
            connections: 1,
            request: Template::new(self.endpoint, "POST", &self.path, &body),
            status: 201,
            numbers: Rc::new(move || Some(next.replace(next.get() + 1))),
            warm_up: WARM_UP,
            time,
        };
        let outcome = load.run().await?;
        let calls = self.hooks.calls() - before;
        let expected = (self.next.get() - first) * webhooks;
        ensure!(
            calls == expected,
            "scores nothing: webhooks were called {calls} times, not {expected} times"
        );
        Ok(outcome.percentile(50))
    }
}

/// Webhooks on a thread of their own, until they are dropped.
struct Hooks {
    calls: Arc<AtomicU64>,
    port: u16,
    certificate: String,
    /// Ends the thread when it is dropped.
    _stop: oneshot::Sender<()>,
}

impl Hooks {
    fn start() -> anyhow::Result<Self> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let calls = Arc::<AtomicU64>::default();
        let mut webhooks = Webhooks::builder();
        for (path, delay) in [(QUICK, Duration::ZERO), (SLOW, SLOWNESS)] {
            let validator = Counting {
                calls: calls.clone(),
                delay,
            };
            webhooks = webhooks.webhook(Webhook::validator(validator).at(path));
        }
        let certificates = Certificates::pem(certificate.clone(), key);
        let server = WebhookServer::new(webhooks.build()?, certificates);
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::spawn(move || {
            on_one_thread(async {
                let listener = TcpListener::from_std(listener)?;
                let stopped = async { stopped.await.unwrap_or_default() };
                anyhow::Ok(server.serve(listener, stopped).await?)
            })
        });
        Ok(Self {
            calls,
            port,
            certificate,
            _stop: stop,
        })
    }

    /// Returns the number of calls so far.
    fn calls(&self) -> u64 {
        self.calls.load(Relaxed)
    }

    fn configuration(&self, path: &str, count: u64) -> Value {
        let webhook = |n: u64| {
            json!({
                "name": format!("webhook-{n}.bench.example.com"),
                "clientConfig": {
                    "url": format!("https://127.0.0.1:{}{path}", self.port),
                    "caBundle": BASE64_STANDARD.encode(&self.certificate),
                },
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            })
        };
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": NAME},
            "webhooks": (0..count).map(webhook).collect::<Vec<_>>(),
        })
    }
}

/// Allows every ConfigMap after some time, and counts the calls.
struct Counting {
    calls: Arc<AtomicU64>,
    delay: Duration,
}

impl Validator<ConfigMap> for Counting {
    async fn validate(&self, _: &Admission<'_>, _: &ConfigMap) -> Result<()> {
        self.calls.fetch_add(1, Relaxed);
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        Ok(())
    }
}

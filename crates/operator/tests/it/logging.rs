//! The log of an operator has the keys of controller-runtime.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, api::PostParams};
use kubewright_controller::{Action, Context, Controller, Error, Result};
use kubewright_operator::Operator;
use serde_json::Value;
use tracing_subscriber::layer::SubscriberExt;

/// Collects the output.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn reconcile(_: Context<ConfigMap>, _: Arc<ConfigMap>) -> Result<Action> {
    Err(Error::terminal("no room").into())
}

fn register(operator: &mut Operator) {
    operator.controller(Controller::for_::<ConfigMap>(), reconcile);
}

// A single thread, so that all events reach the subscriber.
#[tokio::test(flavor = "current_thread")]
async fn failed_reconciles_are_logged_with_the_keys_of_controller_runtime() {
    let sink = Sink::default();
    let writer = sink.clone();
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .with_writer(move || writer.clone());
    // With only one subscriber, a thread of another test without one could cache that nothing is interested in the event.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(lines));
    let cluster = Operator::new("keeper", register)
        .start_test()
        .await
        .unwrap();
    let api: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let mut map = ConfigMap::default();
    map.metadata.name = Some("colours".into());
    api.create(&PostParams::default(), &map).await.unwrap();
    cluster.settled().await.unwrap();

    let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    // The formatter of tracing-subscriber writes the name of the span under the same key, in last place.
    let failed = text
        .lines()
        .find(|line| line.contains("\"level\":\"ERROR\"") && line.contains("\"name\":\"colours\""));
    let failed = failed.unwrap_or_else(|| panic!("no failure in:\n{text}"));
    let failed: Value = serde_json::from_str(failed).unwrap();
    let span = &failed["span"];
    assert_eq!(span["controller"], "configmap");
    assert_eq!(span["controllerGroup"], "");
    assert_eq!(span["controllerKind"], "ConfigMap");
    assert_eq!(span["namespace"], "default");
    assert!(span["reconcileID"].is_string(), "{failed}");
    assert_eq!(failed["fields"]["error"], "no room");
}

//! Spans of reconciles as OpenTelemetry gets them.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_controller::{
    Action, Context, Controller, Manager, Request, Result, create_or_update, otel,
};
use kubewright_testing::TestCluster;
use opentelemetry::trace::Status;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};
use parking_lot::Mutex;
use tracing_subscriber::layer::SubscriberExt;

use crate::managing::create;

/// Keeps what is exported.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().extend(batch);
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn each_reconcile_is_a_span_with_its_result_and_its_children() {
    let kept = Kept::default();
    let (layer, provider) = otel::layer("shop", kept.clone());
    // With one subscriber only, a thread of another test that has none could decide that nobody is interested.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let subscriber = tracing_subscriber::registry().with(layer);
    let _default = tracing::subscriber::set_default(subscriber);
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    Controller::for_::<ConfigMap>()
        .build(&manager, |context: Context, _: Request| async move {
            tracing::info_span!("look").in_scope(|| {});
            if context.attempt() == 0 {
                return Err("not yet".into());
            }
            Ok(Action::done())
        })
        .unwrap();
    create(&cluster, "apples").await;
    let running = cluster.run(&manager);
    cluster.settled().await.unwrap();
    running.stop().await.unwrap();
    provider.force_flush().unwrap();
    let spans = kept.0.lock().clone();
    let reconciles: Vec<_> = spans
        .iter()
        .filter(|span| span.name == "reconcile")
        .collect();
    let attribute = |span: &SpanData, name: &str| {
        let found = span.attributes.iter().find(|a| a.key.as_str() == name);
        found.map(|a| a.value.to_string())
    };
    let results: Vec<_> = reconciles
        .iter()
        .filter_map(|s| attribute(s, "result"))
        .collect();
    assert_eq!(results, ["error: not yet", "done"]);
    assert!(matches!(reconciles[0].status, Status::Error { .. }));
    assert!(!matches!(reconciles[1].status, Status::Error { .. }));
    for span in &reconciles {
        assert_eq!(attribute(span, "controller").unwrap(), "configmap");
        assert_eq!(attribute(span, "name").unwrap(), "apples");
        let id = span.span_context.span_id();
        let child = |s: &&SpanData| s.name == "look" && s.parent_span_id == id;
        assert_eq!(spans.iter().filter(child).count(), 1);
    }
}

/// Creates a Secret for each ConfigMap.
async fn mirror(context: Context, request: Request) -> Result<Action> {
    if context.get::<ConfigMap>(&request).await?.is_some() {
        let mut secret = Secret::default();
        secret.metadata.name = Some(request.name().to_owned());
        let secrets = context.client().api::<Secret>("default");
        create_or_update(&secrets, secret, |_| {}).await?;
    }
    Ok(Action::done())
}

async fn nothing(_: Context, _: Request) -> Result<Action> {
    Ok(Action::done())
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_is_linked_to_the_one_that_wrote_its_trigger() {
    let kept = Kept::default();
    let (layer, provider) = otel::layer("shop", kept.clone());
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let subscriber = tracing_subscriber::registry().with(layer);
    let _default = tracing::subscriber::set_default(subscriber);
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let writer = Controller::for_::<ConfigMap>().named("writer");
    writer.build(&manager, mirror).unwrap();
    let reader = Controller::for_::<Secret>().named("reader");
    reader.build(&manager, nothing).unwrap();
    let running = cluster.run(&manager);
    cluster.settled().await.unwrap();
    let start = cluster.ledger().mark();
    create(&cluster, "apples").await;
    cluster.settled().await.unwrap();
    running.stop().await.unwrap();
    provider.force_flush().unwrap();
    let spans = kept.0.lock().clone();
    let of = |controller: &str| {
        let is_its = |span: &&SpanData| {
            let mut attributes = span.attributes.iter();
            attributes.any(|it| it.key.as_str() == "controller" && it.value.as_str() == controller)
        };
        spans.iter().find(is_its).expect("a span")
    };
    let (writer, reader) = (of("writer"), of("reader"));
    assert!(writer.links.is_empty());
    let linked: Vec<_> = reader
        .links
        .iter()
        .map(|link| link.span_context.span_id())
        .collect();
    assert_eq!(linked, [writer.span_context.span_id()]);
    assert_ne!(reader.parent_span_id, writer.span_context.span_id());
    // The server knows the trace of the write.
    let trace = writer.span_context.trace_id().to_string();
    let writes = cluster.ledger().writes(start);
    let mut parents = writes
        .iter()
        .filter_map(|write| write.traceparent.as_deref());
    assert!(parents.any(|parent| parent.contains(&trace)), "{writes:?}");
}

//! Export of reconcile spans through OpenTelemetry (feature `otel`).
//!
//! Everything in this crate is traced through [`tracing`]; this is the bridge, and nothing depends on it. Each
//! reconcile is a span named `reconcile` with its controller, object, reconcile ID and result, and with an error status
//! if it failed; spans that a reconciler opens are its children. It is linked to the reconciles whose writes triggered it, which are
//! not its parents: a reconcile may have several triggers. Requests carry the header `traceparent` of their span.
//!
//! ```no_run
//! use opentelemetry_sdk::trace::SpanExporter;
//! use tracing_subscriber::{layer::SubscriberExt, util::SubscriberInitExt};
//!
//! fn run(exporter: impl SpanExporter + 'static) {
//!     let (layer, provider) = kubewright_controller::otel::layer("shop-controller", exporter);
//!     tracing_subscriber::registry().with(layer).init();
//!     // Run the manager, and send the remaining spans at the end.
//!     provider.shutdown().unwrap();
//! }
//! ```

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::{
    Resource,
    trace::{SdkTracer, SdkTracerProvider, SpanExporter},
};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// Returns a layer that exports spans in batches from a thread of its own, under the name of a service. Shut the
/// provider down at the end, so that nothing is left unsent.
pub fn layer<S>(
    service: impl Into<String>,
    exporter: impl SpanExporter + 'static,
) -> (OpenTelemetryLayer<S, SdkTracer>, SdkTracerProvider)
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let resource = Resource::builder()
        .with_service_name(service.into())
        .build();
    let provider = SdkTracerProvider::builder()
        .with_resource(resource)
        .with_batch_exporter(exporter)
        .build();
    let tracer = provider.tracer("kubewright");
    (tracing_opentelemetry::layer().with_tracer(tracer), provider)
}

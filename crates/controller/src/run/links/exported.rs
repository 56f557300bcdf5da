//! [`Links`] with the feature `otel`.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use http::HeaderValue;
use opentelemetry::trace::{SpanContext, TraceContextExt};
use parking_lot::Mutex;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::status::Pending;

/// The number of writes that are remembered.
const WRITES: usize = 10_000;

/// The spans of the last writes of this process. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Links(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The span that wrote a revision.
    writers: HashMap<u64, SpanContext>,
    order: VecDeque<u64>,
}

impl Links {
    /// Notes that the current span wrote a revision.
    pub(in crate::run) fn wrote(&self, revision: u64) {
        let Some(span) = current() else {
            return;
        };
        let mut state = self.0.lock();
        if state.writers.insert(revision, span).is_none() {
            state.order.push_back(revision);
        }
        while state.order.len() > WRITES {
            if let Some(oldest) = state.order.pop_front() {
                state.writers.remove(&oldest);
            }
        }
    }

    /// Links a span to those that wrote what triggered its run.
    pub(in crate::run) fn link(&self, span: &Span, pending: &Pending) {
        let state = self.0.lock();
        let triggers = pending.all.iter().map(|trigger| trigger.to_ledger());
        for trigger in triggers {
            let revision = trigger.resource_version.parse::<u64>().ok();
            if let Some(writer) = revision.and_then(|revision| state.writers.get(&revision)) {
                span.add_link(writer.clone());
            }
        }
    }

    /// Returns the header `traceparent` of the current span, unless it is not sampled.
    pub(in crate::run) fn traceparent() -> Option<HeaderValue> {
        let span = current().filter(SpanContext::is_sampled)?;
        let (trace, id, flags) = (span.trace_id(), span.span_id(), span.trace_flags().to_u8());
        HeaderValue::from_str(&format!("00-{trace}-{id}-{flags:02x}")).ok()
    }
}

/// Returns the current span, if it is exported.
fn current() -> Option<SpanContext> {
    let context = Span::current().context();
    let span = context.span().span_context().clone();
    span.is_valid().then_some(span)
}

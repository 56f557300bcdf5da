//! [`Registry`]: all metrics of a program.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::text::TextWriter;

/// The content type of the text format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Something that writes metrics when it is asked.
///
/// Closures are collectors, for numbers that are kept elsewhere:
///
/// ```
/// use kubewright_metrics::{MetricType, Registry, TextWriter};
///
/// let registry = Registry::new();
/// registry.register(|out: &mut TextWriter| {
///     out.heading("answer", "The answer", MetricType::Gauge);
///     out.sample("answer", [], 42.0);
/// });
/// assert!(registry.encode().ends_with("answer 42\n"));
/// ```
pub trait Collect: Send + Sync {
    /// Writes all samples, one family after the other.
    fn collect(&self, out: &mut TextWriter);
}

/// All metrics of a program. Clones share them.
///
/// ```
/// use kubewright_metrics::{CounterVec, Registry};
///
/// let registry = Registry::new();
/// let sold = CounterVec::new("sold_total", "Items sold", ["item"]);
/// registry.register(sold.clone());
/// sold.with(["apple"]).add(3);
/// assert!(registry.encode().ends_with("\nsold_total{item=\"apple\"} 3\n"));
/// ```
#[derive(Clone, Default)]
pub struct Registry(Arc<RwLock<Vec<Arc<dyn Collect>>>>);

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds metrics. They are written in the order in which they were added.
    pub fn register(&self, collector: impl Collect + 'static) {
        self.0.write().push(Arc::new(collector));
    }

    /// Returns all metrics as text.
    pub fn encode(&self) -> String {
        // A collector may register others: the lock is not held while they write.
        let collectors = self.0.read().clone();
        let mut out = TextWriter::default();
        for collector in &collectors {
            collector.collect(&mut out);
        }
        out.finish()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let collectors = self.0.read().len();
        f.debug_struct("Registry")
            .field("collectors", &collectors)
            .finish()
    }
}

impl<F> Collect for F
where
    F: Fn(&mut TextWriter) + Send + Sync,
{
    fn collect(&self, out: &mut TextWriter) {
        self(out);
    }
}

//! Counters, gauges and histograms, in Prometheus' text format 0.0.4.
//!
//! A [`Registry`] gathers [`Collect`]ors: families of this module, and whatever else can write itself down. There is no
//! global one: a program makes a registry and hands it to whoever counts. Reading a metric never blocks counting for longer
//! than it takes to copy a number.
//!
//! | module | what it holds |
//! |---|---|
//! | [`family`] | [`Counter`], [`Gauge`], [`Histogram`] and families of them by label |
//! | [`text`] | [`TextWriter`]: the format |
//! | [`names`] | the metrics of controllers and of leader election, under controller-runtime's names |

use std::sync::Arc;

use parking_lot::RwLock;

pub mod family;
pub mod names;
pub mod text;

pub use family::{Counter, CounterVec, Gauge, GaugeVec, Histogram, HistogramVec};
pub use names::{ControllerFamilies, ControllerMetrics, ElectionMetrics, ReconcileResult};
pub use text::{MetricType, TextWriter};

/// The content type of the text format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Something that can write its metrics down.
pub trait Collect: Send + Sync {
    /// Writes them, each family in one go.
    fn collect(&self, out: &mut TextWriter);
}

/// All metrics of a program. Clones share them.
///
/// ```
/// use kubewright_controller::metrics::{CounterVec, Registry};
///
/// let registry = Registry::new();
/// let sold = CounterVec::new("sold_total", "What was sold", ["fruit"]);
/// registry.register(sold.clone());
/// sold.with(["apple"]).add(2);
/// assert_eq!(
///     registry.encode(),
///     "# HELP sold_total What was sold\n# TYPE sold_total counter\nsold_total{fruit=\"apple\"} 2\n"
/// );
/// ```
#[derive(Clone, Default)]
pub struct Registry(Arc<RwLock<Vec<Arc<dyn Collect>>>>);

impl Registry {
    /// Without any.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds metrics. They are written in the order in which they were added.
    pub fn register(&self, collector: impl Collect + 'static) {
        self.0.write().push(Arc::new(collector));
    }

    /// Everything, as text.
    pub fn encode(&self) -> String {
        // Whoever collects may register: the lock is not held meanwhile.
        let collectors = self.0.read().clone();
        let mut out = TextWriter::default();
        for collector in &collectors {
            collector.collect(&mut out);
        }
        out.finish()
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

//! Counters, gauges and histograms, and Prometheus' text format 0.0.4.
//!
//! A [`Registry`] gathers [`Collect`]ors: families of metrics by label, and anything else that can write samples. There is
//! no global registry; a program creates one and passes it to the parts that count. Updating a metric is one or two atomic
//! additions; hold on to a member of a family that is updated often, so that no update looks it up.
//!
//! Names, help texts and labels are written exactly as they are given, without suffixes of any kind, so metrics can carry
//! the names that dashboards know from kube-apiserver, client-go and controller-runtime.
//!
//! ```
//! use kubewright_metrics::{CounterVec, Registry};
//!
//! let registry = Registry::new();
//! let sold = CounterVec::new("sold_total", "Fruit sold", ["fruit"]);
//! registry.register(sold.clone());
//! sold.with(["apple"]).add(2);
//! assert_eq!(
//!     registry.encode(),
//!     "# HELP sold_total Fruit sold\n# TYPE sold_total counter\nsold_total{fruit=\"apple\"} 2\n"
//! );
//! ```

mod family;
mod histogram;
mod number;
mod registry;
mod text;
mod value;

pub use family::{CounterVec, Family, GaugeVec, HistogramVec, Metric};
pub use histogram::{Histogram, LocalHistogram};
pub use registry::{CONTENT_TYPE, Collect, Registry};
pub use text::{MetricType, TextWriter};
pub use value::{Counter, Gauge};

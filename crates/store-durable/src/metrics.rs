//! Metrics of a store, as Prometheus text.

use kubewright_metrics::{MetricType, TextWriter};

use crate::{DurableStore, StoreHealth};

/// The states of a store.
const STATES: [&str; 3] = ["healthy", "full", "failed"];

impl DurableStore {
    /// Writes the metrics of the store.
    ///
    /// ```
    /// use kubewright_metrics::TextWriter;
    /// use kubewright_store_durable::{DurableStore, Options};
    ///
    /// # let directory = std::env::temp_dir().join(format!("kubewright-metrics-{}", std::process::id()));
    /// let store = DurableStore::open(&directory, Options::default())?;
    /// let mut text = TextWriter::default();
    /// store.write_metrics(&mut text);
    /// assert!(text.finish().contains("kubewright_store_state{state=\"healthy\"} 1"));
    /// # std::fs::remove_dir_all(&directory).unwrap();
    /// # Ok::<_, kubewright_store_durable::OpenError>(())
    /// ```
    pub fn write_metrics(&self, out: &mut TextWriter) {
        let stats = self.stats();
        let name = "kubewright_store_sync_seconds";
        out.heading(name, "Duration of syncs of the log.", MetricType::Histogram);
        out.histogram(name, &[], &self.counters().sync_seconds());
        for (name, help, number) in [
            (
                "kubewright_store_writes_total",
                "Writes in the log.",
                stats.records,
            ),
            (
                "kubewright_store_groups_total",
                "Groups of writes that were made durable together.",
                stats.groups,
            ),
            (
                "kubewright_store_checkpoints_total",
                "Checkpoints written.",
                stats.checkpoints,
            ),
            (
                "kubewright_store_checkpoint_failures_total",
                "Checkpoints that failed.",
                stats.checkpoint_failures,
            ),
        ] {
            out.heading(name, help, MetricType::Counter);
            out.sample(name, [], number as f64);
        }
        let name = "kubewright_store_log_bytes";
        let help = "Bytes of the log that the next checkpoint replaces.";
        out.heading(name, help, MetricType::Gauge);
        out.sample(name, [], self.counters().log_bytes() as f64);
        if let Some(free) = self.free_space() {
            let name = "kubewright_store_free_bytes";
            let help = "Free bytes of the file system of the data directory.";
            out.heading(name, help, MetricType::Gauge);
            out.sample(name, [], free as f64);
        }
        let name = "kubewright_store_state";
        let help =
            "State of the store: healthy, full (deletes and reads only) or failed (reads only).";
        out.heading(name, help, MetricType::Gauge);
        let now = match self.health() {
            StoreHealth::Healthy => "healthy",
            StoreHealth::Full(_) => "full",
            StoreHealth::Failed(_) => "failed",
        };
        for state in STATES {
            let is_so = f64::from(u8::from(state == now));
            out.sample(name, [("state", state)], is_so);
        }
    }
}

//! Metrics of certificate reads, under controller-runtime's names.

use kubewright_metrics::{Counter, CounterVec, Registry};

/// Metrics of certificate reads, from files or a Secret. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct ReadMetrics {
    families: [CounterVec<0>; 2],
    reads: Counter,
    errors: Counter,
}

impl Default for ReadMetrics {
    fn default() -> Self {
        let families = [
            CounterVec::new(
                "certwatcher_read_certificate_total",
                "Total number of certificate reads",
                [],
            ),
            CounterVec::new(
                "certwatcher_read_certificate_errors_total",
                "Total number of certificate read errors",
                [],
            ),
        ];
        let [reads, errors] = families.each_ref().map(|family| family.with([]));
        Self {
            families,
            reads,
            errors,
        }
    }
}

impl ReadMetrics {
    /// Counts a read, and its error.
    pub(super) fn count<T, E>(&self, read: Result<T, E>) -> Result<T, E> {
        self.reads.inc();
        if read.is_err() {
            self.errors.inc();
        }
        read
    }

    pub(crate) fn register(&self, registry: &Registry) {
        for family in &self.families {
            registry.register(family.clone());
        }
    }
}

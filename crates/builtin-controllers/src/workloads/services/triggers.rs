//! [`Triggers`]: the times of the changes that lead to writes of endpoints.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use kubewright_controller::Request;
use parking_lot::Mutex;

use crate::workloads::objects::{Condition, Pod, Service};

/// The times of the last changes of Services and their pods.
#[derive(Default)]
pub(crate) struct Triggers(Mutex<HashMap<Request, Known>>);

/// The times that a pass has seen.
#[derive(Default)]
struct Known {
    service: Option<Timestamp>,
    pods: BTreeMap<String, Timestamp>,
}

impl Triggers {
    /// Returns the earliest of the times that are new since the last pass.
    pub(crate) fn earliest_new(
        &self,
        request: &Request,
        service: &Service,
        pods: &[Arc<Pod>],
    ) -> Option<Timestamp> {
        let changed = |pod: &Arc<Pod>| {
            let ready = Condition::find(&pod.status.conditions, "Ready")?;
            let at = ready.last_transition_time.as_ref()?.0;
            Some((pod.metadata.name.clone().unwrap_or_default(), at))
        };
        let now = Known {
            service: service.metadata.creation_timestamp.as_ref().map(|at| at.0),
            pods: pods.iter().filter_map(changed).collect(),
        };
        let mut known = self.0.lock();
        let before = known.entry(request.clone()).or_default();
        let pods = now.pods.iter();
        let pods = pods.filter(|(name, at)| before.pods.get(*name).is_none_or(|old| *at > old));
        let service = now
            .service
            .filter(|at| before.service.is_none_or(|old| *at > old));
        let earliest = pods.map(|(_, at)| *at).chain(service).min();
        *before = now;
        earliest
    }

    /// Forgets a Service that is gone.
    pub(crate) fn forget(&self, request: &Request) {
        self.0.lock().remove(request);
    }
}

//! Filters: whether a node can run a pod, and the reason if it cannot.
//!
//! They run in the order of kube-scheduler; the first one that rejects a node determines the reason.

mod affinity;
mod fit;
mod node;
mod spread;

use std::borrow::Cow;

use crate::{node::NodeInfo, pod::Template, snapshot::Snapshot, volumes::PodVolumes};

pub(crate) use affinity::Neighbours;
pub(crate) use node::{affinity, evicting_taints, ports};
pub(crate) use spread::{Domains, constraint_counts};

/// A reason for which a node cannot run a pod.
pub(crate) type Reason = Cow<'static, str>;

/// The result of the filter that rejected a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) reasons: Vec<Reason>,
    /// Whether removing other pods could help.
    pub(crate) is_resolvable: bool,
}

/// Data about a pod that the filters compute once for all nodes.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    volumes: &'a PodVolumes,
    spread: Domains,
    neighbours: Neighbours,
}

impl Rejection {
    pub(crate) fn new(reason: impl Into<Reason>, is_resolvable: bool) -> Self {
        Self {
            reasons: vec![reason.into()],
            is_resolvable,
        }
    }
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(snapshot: &mut Snapshot, pod: &Template, volumes: &'a PodVolumes) -> Self {
        Self {
            volumes,
            spread: Domains::new(snapshot, pod),
            neighbours: Neighbours::new(snapshot, pod),
        }
    }

    /// Runs all filters for a node.
    pub(crate) fn check(&self, pod: &Template, node: &NodeInfo) -> Result<(), Rejection> {
        node::unschedulable(pod, node)?;
        node::taints(pod, node)?;
        node::affinity(pod, node)?;
        node::ports(pod, node)?;
        fit::fits(pod, node)?;
        self.volumes.check(node)?;
        self.spread.check(node)?;
        self.neighbours.check(node)
    }
}

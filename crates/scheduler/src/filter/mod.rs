//! Filters: whether a pod can run on a node, and the reason if it cannot.
//!
//! They are asked in the order of kube-scheduler, and the first that rejects a node gives the reason.

mod affinity;
mod fit;
mod node;
mod spread;

use std::borrow::Cow;

use crate::{node::NodeInfo, pod::Template, snapshot::Snapshot};

pub(crate) use affinity::Neighbours;
pub(crate) use spread::{Domains, constraint_counts};

/// A reason for which a node cannot run a pod.
pub(crate) type Reason = Cow<'static, str>;

/// The answer of the filter that rejected a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) reasons: Vec<Reason>,
    /// Whether the removal of other pods could help.
    pub(crate) is_resolvable: bool,
}

/// Facts about a pod that the filters compute once, before they look at nodes.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
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

impl Prepared {
    pub(crate) fn new(snapshot: &mut Snapshot, pod: &Template) -> Self {
        Self {
            spread: Domains::new(snapshot, pod),
            neighbours: Neighbours::new(snapshot, pod),
        }
    }

    /// Asks all filters about a node.
    pub(crate) fn check(&self, pod: &Template, node: &NodeInfo) -> Result<(), Rejection> {
        node::unschedulable(pod, node)?;
        node::taints(pod, node)?;
        node::affinity(pod, node)?;
        node::ports(pod, node)?;
        fit::fits(pod, node)?;
        self.spread.check(node)?;
        self.neighbours.check(node)
    }
}

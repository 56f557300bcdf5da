//! The machinery that all workload controllers share: their pods.
//!
//! Controllers never act on a state that lacks their own writes: reads wait until the caches show them (see
//! [`Client`](kubewright_controller::Client)), which takes the place of client-go's expectations.
//!
//! | module | contents |
//! |---|---|
//! | `template` | pods from templates |
//! | `control` | creation and deletion, with events about the owner |
//! | `slow_start` | batches that grow while they succeed |
//! | `claim` | adoption and release |
//! | `ranking` | which pods are deleted first |
//! | `index` | pods by controller and by node; the requests that events of pods cause |

mod claim;
mod control;
mod index;
mod ranking;
mod slow_start;
mod template;

pub(crate) use claim::Claims;
pub(crate) use control::{PodControl, message_of};
pub(crate) use index::{
    add_index, add_namespace_index, add_node_index, cached_children, cached_in_namespace,
    cached_on_node, events_of_children, events_of_controlled, events_of_objects,
    events_of_selected, no_events, on_node, owned_and_orphans, owned_by,
};
pub(crate) use ranking::{Ranked, by_preference, by_use};
pub(crate) use slow_start::slow_start;
pub(crate) use template::{name_prefix, pod_of};

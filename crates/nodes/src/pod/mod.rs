//! A pod on its node: what it asks for, what its containers do, and the status that says so.

mod advance;
mod container;
mod deletion;
pub(crate) mod plan;
mod probes;
mod start;
pub(crate) mod state;
pub(crate) mod status;

pub(crate) use container::ContainerState;
pub use container::ProbeKind;
pub(crate) use state::{PodEvent, PodState, Surroundings};

//! A pod on its node: its plan, the state of its containers, and its status.

mod advance;
mod container;
mod deletion;
mod downward;
mod env_file;
mod hooks;
pub(crate) mod plan;
mod probes;
mod pull;
pub(crate) mod requirement;
mod resize;
mod restart_all;
mod seen;
mod start;
pub(crate) mod state;
pub(crate) mod status;
mod sysctls;
mod takeover;
mod volume;

pub use container::ProbeKind;
pub(crate) use container::{Checked, ContainerState};
pub(crate) use hooks::HookKind;
pub(crate) use state::{PodEvent, PodState, Surroundings};
pub(crate) use sysctls::path as sysctl_path;

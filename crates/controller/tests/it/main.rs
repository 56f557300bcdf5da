//! The crate on the embedded server.

mod commands;
mod events;
mod faults;
mod fence;
mod go_holder;
mod leader_election;
mod link;
mod managers;
mod managing;
mod namespaces;
mod objects;
mod paused_process;
mod reconciling;
mod settings;
#[cfg(feature = "otel")]
mod telemetry;
mod watching;

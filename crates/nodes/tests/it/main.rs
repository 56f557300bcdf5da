//! Simulated nodes on a test cluster.

mod containers;
mod deleting;
mod fixture;
mod functions;
mod nodes;
mod probes;
mod rules;
mod running;

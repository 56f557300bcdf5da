//! Simulated nodes on a test cluster.

mod admission;
mod agnhost;
mod attaching;
mod containers;
mod deleting;
mod executing;
mod fixture;
mod forwarding;
mod functions;
mod inside;
mod nodes;
mod probes;
mod requirements;
mod resizes;
mod rollouts;
mod running;
mod services;
mod sockets;
#[path = "../../../streams/tests/it/spdy_client.rs"]
mod spdy_client;
mod streams;
mod upgrading;

//! The clients against a server: the embedded one, or with `KUBEWRIGHT_TEST_KUBECONFIG` the one of that kubeconfig, for all
//! that can be asked of a server as it is. What needs faults or a server that lies runs on the embedded one always.

mod discovery;
mod disk_cache;
mod dynamic;
mod front;
mod kubeconfig;
mod mapper;
mod memory_cache;
mod metadata;
mod policy;
mod rest;
mod scale;
mod sockets;
mod target;
mod typed;

//! Informers against servers that misbehave, and against servers that do not.

mod buffers;
mod cluster;
mod cut;
mod embedded;
mod factory;
mod faults;
mod handlers;
mod history;
mod indexer;
mod objects;
mod queues;
mod reflector;
mod requests;
mod simulated;
mod sockets;

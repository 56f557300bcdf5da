//! Informers against servers that misbehave, and against servers that do not.

mod caches;
mod cluster;
mod embedded;
mod faults;
mod handlers;
mod history;
mod indexer;
mod objects;
mod queues;
mod reflector;
mod simulated;

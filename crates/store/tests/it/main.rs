//! The store in memory, from outside.

mod conformance;
mod expiry;
mod faults;
mod linearizability;
mod model;
mod notified;
mod retention;
mod stress;
mod watchers;

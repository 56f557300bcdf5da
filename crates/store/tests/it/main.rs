//! The store in memory, from outside.

mod conformance;
mod expiry;
mod faults;
mod linearizability;
mod model;
mod retention;
mod stress;
mod told;
mod watchers;

//! The controllers on the embedded server.

mod certificates;
mod discovery;
mod fixture;
mod kinds;
mod namespaces;
mod owners;
mod policy_status;
mod protection;
mod publishers;
mod recorded;
mod role_aggregation;
mod token_secrets;
mod workloads;

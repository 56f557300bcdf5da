//! The crate on the embedded server.

mod events;
mod fence;
mod go_holder;
mod leader_election;
mod link;
mod managers;
mod managing;
mod objects;
mod reconciling;
mod watching;

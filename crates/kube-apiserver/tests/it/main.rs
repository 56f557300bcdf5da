//! The control plane as a client sees it.

mod admission;
mod client;
mod plugins;
mod rules;

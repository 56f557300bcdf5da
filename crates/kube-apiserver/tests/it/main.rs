//! The control plane as a client sees it.

mod admission;
mod bootstrap;
mod client;
mod plugins;
mod rules;

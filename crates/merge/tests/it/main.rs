//! Properties of every input, and cases with objects of real kinds.

mod config_maps;
mod deployments;
mod laws;
mod types;

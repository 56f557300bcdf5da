//! What holds for every input, and what objects of real kinds look like.

mod config_maps;
mod deployments;
mod laws;
mod types;

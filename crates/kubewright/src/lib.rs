//! Everything needed to program Kubernetes in Rust.

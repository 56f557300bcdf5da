//! Projects of kubebuilder, as projects of Rust.
//!
//! | module | what it holds |
//! |---|---|
//! | [`markers`] | permissions in comments of Go source |

pub mod markers;

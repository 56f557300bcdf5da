//! What the crate does, from outside.

#[allow(unreachable_pub)]
mod generated;
mod import_crd;
mod project;

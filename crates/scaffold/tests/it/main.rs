//! Tests of the public API of the crate.

// The types of the goldens name the facade.
extern crate kubewright_resource as kubewright;

mod aggregated;
mod generate;
#[allow(unreachable_pub)]
mod generated;
mod import_crd;
mod import_kubebuilder;
mod project;
mod versions;
mod webhooks;

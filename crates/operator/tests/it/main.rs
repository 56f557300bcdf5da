//! The public API of operators, and conversion as functions, on a test cluster, and over TLS.

// The derive refers to `::kubewright`.
extern crate kubewright_resource as kubewright;

mod aggregated;
mod author;
mod conversion;
mod deployed;
mod installing;
mod logging;
mod permissions;
mod perturbed;
mod webhook_faults;
mod webhooks;

//! An operator from outside: what its author writes, and conversion in the process, in a test cluster, and over TLS.

// The derive refers to `::kubewright`.
extern crate kubewright_resource as kubewright;

mod author;
mod conversion;
mod deployed;
mod installing;
mod logging;
mod permissions;
mod perturbed;
mod webhooks;

//! Webhooks, called in process.

extern crate kubewright_resource as kubewright;

mod admitting;
mod captain;
mod converting;
mod protocol;

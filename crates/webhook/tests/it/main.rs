//! Webhooks, called in process and served beside a manager.

extern crate kubewright_resource as kubewright;

mod admitting;
mod captain;
mod clusters;
mod converting;
mod protocol;
mod serving;

//! Types, their definitions, and what the server makes of them.

// What the derive writes begins with `::kubewright`, the facade, which stands above this crate.
extern crate kubewright_resource as kubewright;

mod captain;
mod defaults;
mod golden;
mod server;
mod versions;

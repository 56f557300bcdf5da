//! Servers of typed kinds, called in process.

// The derive refers to `::kubewright`.
extern crate kubewright_resource as kubewright;

mod bad_storages;
mod computed;
mod delegated;
mod extensions;
mod sky;
mod stored;
mod watches;

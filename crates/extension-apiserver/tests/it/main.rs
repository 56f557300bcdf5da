//! Servers of typed kinds, called in process.

// The derive refers to `::kubewright`.
extern crate kubewright_resource as kubewright;

mod bad_storages;
mod computed;
mod delegated;
mod deletion;
mod extensions;
mod observed;
mod protobuf;
mod replicas;
mod sample_apiserver;
mod shutdown;
mod sky;
#[path = "../../../streams/tests/it/spdy_client.rs"]
mod spdy_client;
mod stored;
mod streams;
mod subresource_schemas;
mod upgrades;
mod watches;

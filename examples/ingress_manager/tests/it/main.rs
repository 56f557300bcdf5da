//! The controller on a server: the embedded one, or with `KUBEWRIGHT_TEST_KUBECONFIG` the one of that kubeconfig.

mod following;
mod leading;
mod ownership;
mod permissions;
mod target;

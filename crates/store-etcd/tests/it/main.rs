//! The store with a real etcd. `KUBEWRIGHT_ETCD` names the program (default: `etcd`); without it, the tests are skipped.

mod cluster;
mod compaction;
mod conformance;
mod etcd;
mod faults;
mod forks;
mod history;
mod leases;
mod load;
mod members;
mod proxy;
mod refusals;
mod watchers;

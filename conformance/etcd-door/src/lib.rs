//! The part of etcd's API that kube-apiserver uses, in front of any [`Store`](kubewright_store::Store).
//!
//! A test tool: a real kube-apiserver tests the store by its own use of it, and `etcdctl get` shows what is in it. It listens on the
//! loopback device only, knows no users, and answers `Unimplemented` to whatever it does not have: sorted ranges, several writes
//! in a transaction, deletion of ranges, keeping leases alive, snapshots.
//!
//! Each key of etcd is an object of one collection. Revisions are those of the store, whose first must be above 1.
//!
//! | file | contents |
//! |---|---|
//! | `door`, `call` | connections, and gRPC over HTTP/2 |
//! | `messages` | the messages, with the field numbers of `rpc.proto` and `kv.proto` |
//! | `stored` | keys and values of etcd as objects |
//! | `bounds` | ranges of keys |
//! | `kv` | ranges and transactions |
//! | `watch` | watches |
//! | `leases` | lifetimes |

mod bounds;
mod call;
mod door;
#[allow(dead_code)]
#[path = "../../../crates/store-etcd/src/grpc/frame.rs"]
mod frame;
mod kv;
mod leases;
mod messages;
mod stored;
mod watch;
#[allow(dead_code)]
#[path = "../../../crates/store-etcd/src/api/wire.rs"]
mod wire;

pub use door::{Door, DoorError};

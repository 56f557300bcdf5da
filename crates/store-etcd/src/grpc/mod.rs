//! gRPC over HTTP/2, as far as etcd's API needs it: unary calls and watches.
//!
//! | file | contents |
//! |---|---|
//! | `endpoint` | the address of a member, and its TLS settings |
//! | `body` | the bodies of requests |
//! | `frame` | length-prefixed messages |
//! | `connection` | a connection to one member: calls and streams |
//! | `channel` | several members: failover and authentication |
//! | `error` | errors of calls |

mod body;
mod channel;
mod connection;
mod endpoint;
mod error;
mod frame;

pub(crate) use channel::{Channel, Credentials};
pub(crate) use endpoint::{Endpoint, Tls};
pub use endpoint::{TlsFiles, TlsFilesError};
pub(crate) use error::{CallError, Code};
pub(crate) use frame::messages_of;

//! The streaming protocols of Kubernetes: commands with standard streams, port forwarding, and streamed bodies.
//!
//! Clients open a stream by an HTTP upgrade. kubectl and client-go use WebSockets, and fall back to SPDY/3.1; older clients
//! support only SPDY/3.1. Handlers do not depend on the protocol: an [`Exec`] receives standard input, output and error as
//! byte streams, and a [`PortForward`] receives a duplex stream for each connection.
//!
//! | | WebSocket subprotocols | SPDY/3.1 protocols |
//! |---|---|---|
//! | [`Streams::exec`] | `v5.channel.k8s.io`, `v4.channel.k8s.io`, `v4.base64.channel.k8s.io`, `channel.k8s.io`, `base64.channel.k8s.io`, none | `v4.channel.k8s.io`, `v3.channel.k8s.io`, `v2.channel.k8s.io`, `channel.k8s.io` |
//! | [`Streams::port_forward`] | `SPDY/3.1+portforward.k8s.io`, `v4.channel.k8s.io`, `v4.base64.channel.k8s.io`, none | `portforward.k8s.io` |
//! | [`Streams::messages`] | `binary.k8s.io`, `base64.binary.k8s.io`, none | |
//!
//! ```
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use http::{Request, Response};
//! use kubewright_machinery::Status;
//! use kubewright_streams::{Exec, ExecOptions, ExecSession, Exit, Streams};
//!
//! /// Copies standard input to standard output.
//! struct Echo;
//!
//! #[async_trait]
//! impl Exec for Echo {
//!     async fn exec(&self, session: ExecSession) -> Result<Exit, Status> {
//!         let (Some(mut stdin), Some(mut stdout)) = (session.stdin, session.stdout) else {
//!             return Ok(Exit::code(2));
//!         };
//!         let copied = tokio::io::copy(&mut stdin, &mut stdout).await;
//!         Ok(copied.map_or(Exit::code(1), |_| Exit::SUCCESS))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let mut request = Request::get("/exec?stdin=true&stdout=true").body(()).unwrap();
//! let options = ExecOptions::from_query("stdin=true&stdout=true");
//! let refused = Streams::default().exec(&mut request, options, Arc::new(Echo)).unwrap_err();
//! assert_eq!((refused.code, refused.message.as_str()), (400, "Upgrade request required"));
//! # });
//! ```
//!
//! # Limits
//!
//! [`StreamLimits`] bounds what a peer can do. A stream has a small buffer in each direction; a slow reader blocks only its
//! own connection. The SPDY clients of Kubernetes ignore flow-control windows, so that none are maintained: a connection whose
//! streams are not read is not read either.
//!
//! | module | contents |
//! |---|---|
//! | `upgrade` | responses to upgrade requests: the upgrade, or the error of the real server |
//! | `exec`, `port_forward`, `messages` | the three kinds of streams, over each protocol |
//! | `kubelets` | [`Kubelets`]: the nodes that an API server forwards requests to |
//! | `pipe` | [`Input`], [`Output`] and [`Duplex`] |
//! | `connection` | the two halves of a connection, its queue of frames, and its end |
//! | `websocket`, `spdy` | frames of the protocols |

mod connection;
mod exec;
mod kubelets;
mod limits;
mod messages;
mod pipe;
mod port_forward;
mod query;
mod spdy;
mod upgrade;
mod websocket;

pub use exec::{Exec, ExecOptions, ExecSession, Exit, Resizes, TerminalSize};
pub use kubelets::{Connection, KubeletBody, Kubelets, PodConnection};
pub use limits::StreamLimits;
pub use pipe::{Duplex, Input, Output};
pub use port_forward::{ForwardError, PortForward, ports_from_query};
pub use upgrade::{Streams, is_upgrade};

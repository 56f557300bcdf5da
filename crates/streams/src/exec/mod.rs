//! [`Exec`]: commands with the standard streams of a client.

mod resize;
mod result;
mod spdy;
mod websocket;

use std::{panic::AssertUnwindSafe, sync::Arc};

use async_trait::async_trait;
use futures_util::FutureExt;
use kubewright_machinery::{Status, status};

use crate::{Input, Output, query};
pub use resize::{Resizes, TerminalSize};
pub use result::Exit;
pub(crate) use spdy::{PROTOCOLS as SPDY_PROTOCOLS, over_spdy};
pub(crate) use websocket::{PROTOCOLS as WEBSOCKET_PROTOCOLS, over_websocket};

/// Runs commands, or anything else with standard streams and an exit code.
#[async_trait]
pub trait Exec: Send + Sync + 'static {
    /// Runs a command until it exits. The future is dropped if the client disconnects.
    ///
    /// # Errors
    ///
    /// The error is sent to the client instead of an exit code.
    async fn exec(&self, session: ExecSession) -> Result<Exit, Status>;
}

/// The options of a command: the parameters of `pods/exec`.
///
/// ```
/// use kubewright_streams::ExecOptions;
///
/// let options = ExecOptions::from_query("command=ls&command=-l&stdout=true&tty=true&container=app");
/// assert_eq!(options.command, ["ls", "-l"]);
/// assert!(options.stdout && options.tty && !options.stdin);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecOptions {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The container; empty if the client does not name one.
    pub container: String,
    /// Whether the client sends standard input.
    pub stdin: bool,
    /// Whether the client receives standard output.
    pub stdout: bool,
    /// Whether the client receives standard error.
    pub stderr: bool,
    /// Whether the streams are a terminal, which has no standard error.
    pub tty: bool,
}

/// A command that a client has started.
#[derive(Debug)]
pub struct ExecSession {
    /// The options of the request.
    pub options: ExecOptions,
    /// Standard input.
    pub stdin: Option<Input>,
    /// Standard output.
    pub stdout: Option<Output>,
    /// Standard error.
    pub stderr: Option<Output>,
    /// The sizes of the terminal.
    pub resizes: Resizes,
}

impl ExecOptions {
    /// Parses the query of a URL.
    pub fn from_query(query: &str) -> Self {
        Self {
            command: query::all(query, "command").collect(),
            container: query::all(query, "container").next().unwrap_or_default(),
            stdin: query::flag(query, "stdin"),
            stdout: query::flag(query, "stdout"),
            stderr: query::flag(query, "stderr"),
            tty: query::flag(query, "tty"),
        }
    }

    /// Validates the options, and resolves conflicts between them.
    pub(crate) fn checked(mut self) -> Result<Self, Status> {
        if self.tty {
            self.stderr = false;
        }
        if !self.stdin && !self.stdout && !self.stderr {
            return Err(status::bad_request(
                "you must specify at least 1 of stdin, stdout, stderr",
            ));
        }
        Ok(self)
    }
}

/// Runs a command. A panic becomes an internal error.
async fn run(handler: Arc<dyn Exec>, session: ExecSession) -> Result<Exit, Status> {
    let guarded = AssertUnwindSafe(handler.exec(session)).catch_unwind();
    guarded.await.unwrap_or_else(|_| {
        tracing::error!("a command caused a panic");
        Err(status::internal("the command caused a panic"))
    })
}

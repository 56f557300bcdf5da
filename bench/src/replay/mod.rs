//! The server that informers are measured against: generated pods over plain HTTP, as many as the path asks for.
//!
//! It runs in its own process, so that only the client is measured.
//!
//! | module | contents |
//! |---|---|
//! | `corpus` | pods of 6.9 KB, determined by their number, and their digest |
//! | `protobuf` | the same pods in protobuf |
//! | `serve` | lists and watches |

pub(crate) mod corpus;
mod protobuf;
mod serve;

use std::{
    cell::Cell,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::Context;

pub(crate) use serve::{LISTED, serve};

use crate::roles;

/// A running replay server. Dropping it stops the server.
pub(crate) struct Replay {
    child: Child,
    url: String,
    runs: Cell<u64>,
}

impl Replay {
    /// Starts a server.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([roles::ARGUMENT, "replay"])
            // It ends when this is closed, and so with this process in any case.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the replay server")?;
        let output = child.stdout.take().context("the server says nothing")?;
        let mut replay = Self {
            child,
            url: String::new(),
            runs: Cell::new(0),
        };
        BufReader::new(output).read_line(&mut replay.url)?;
        replay.url.truncate(replay.url.trim_end().len());
        anyhow::ensure!(!replay.url.is_empty(), "the replay server did not start");
        Ok(replay)
    }

    /// Returns the base path of a run: the number of pods and of changes, and whether everything is listed again. Each
    /// path is unique, since the server keeps the state of a run.
    pub(crate) fn run(&self, pods: u64, events: u64, relist: bool) -> String {
        let run = self.runs.replace(self.runs.get() + 1);
        format!(
            "{}/run-{run}/pods-{pods}/events-{events}/relist-{}",
            self.url,
            u8::from(relist)
        )
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

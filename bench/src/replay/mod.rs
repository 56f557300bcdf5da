//! The server that informers are measured against: pods from a seed over plain HTTP, as many as the path asks for.
//!
//! It is a process of its own, so that what is measured is the client alone.
//!
//! | module | what it holds |
//! |---|---|
//! | `corpus` | pods of 6.9 KB, the same for the same number, and their digest |
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

/// A replay server that runs. Dropped, it is stopped.
pub(crate) struct Replay {
    child: Child,
    url: String,
    runs: Cell<u64>,
}

impl Replay {
    /// Starts one.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([roles::ARGUMENT, "replay"])
            // It ends when this is closed, and so with us, however we end.
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

    /// The base of a run's paths: so many pods, so many changes, everything listed again or not. No two are the same, as
    /// the server remembers how far a run is.
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

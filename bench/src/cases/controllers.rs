//! Shared by the cases of controllers: ours and controller-runtime take turns, each in its own process with the same
//! work on its own server. The server is ours, and its resources are not counted.

use std::{process::Command, time::Duration};

use anyhow::ensure;
use kubewright_bench_operator::{Mode, Work};

use super::{Bench, OURS};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    peer::{self, Peer, Running},
    results::Section,
    server::Server,
};

/// The name of the peer's column.
pub(super) const PEER: &str = "controller-runtime";

/// Makes a command that does the work given as JSON.
type MakeCommand = Box<dyn Fn(&Work) -> anyhow::Result<Command>>;

/// A program with a piece of work.
pub(super) struct Program {
    command: Command,
    limit: Duration,
}

impl Program {
    /// Runs the program to its end.
    pub(super) fn run(mut self) -> anyhow::Result<Sample> {
        peer::run(&mut self.command, self.limit)
    }

    /// Starts the program, which works until it is asked to finish.
    pub(super) fn start(mut self) -> anyhow::Result<Running> {
        Running::start(&mut self.command)
    }
}

/// Lets ours and controller-runtime take turns. A turn gets an empty server, and a function that makes a program for
/// the work.
pub(super) fn contest(
    bench: &Bench,
    section: &mut Section,
    (rounds, limit): (usize, Duration),
    expected: &Digests,
    turn: impl Fn(&Server, &dyn Fn(Work) -> anyhow::Result<Program>) -> anyhow::Result<Sample>,
) {
    let turn = &turn;
    let side = |name, command: MakeCommand| {
        let server = bench.server.clone();
        Contestant::new(name, move || {
            let server = Server::ours(&server)?;
            turn(&server, &|work: Work| {
                let work = Work {
                    kubeconfig: server.kubeconfig().display().to_string(),
                    ..work
                };
                let command = command(&work)?;
                Ok(Program { command, limit })
            })
        })
    };
    let ours = side(OURS, Box::new(operator));
    let peer = match bench.peers.command(Peer::Go("controller")) {
        Ok(command) => side(
            PEER,
            Box::new(move |work| {
                let mut command = command();
                command.arg(serde_json::to_string(work)?);
                Ok(command)
            }),
        ),
        Err(reason) => Contestant::absent(PEER, reason),
    };
    hold(section, rounds, expected, vec![ours, peer]);
}

/// Returns our program for the work, which is built next to this one.
fn operator(work: &Work) -> anyhow::Result<Command> {
    let name = match work.mode {
        Mode::Idle => "kubewright-bench-hello",
        Mode::Reconcile | Mode::Latency | Mode::Leader | Mode::Webhooks => {
            "kubewright-bench-operator"
        }
    };
    let program = std::env::current_exe()?.with_file_name(name);
    ensure!(
        program.is_file(),
        "there is no {}: `cargo xtask bench` builds it",
        program.display()
    );
    let mut command = Command::new(program);
    command.arg(serde_json::to_string(work)?);
    Ok(command)
}

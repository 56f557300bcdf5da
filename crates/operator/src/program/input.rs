//! Standard input, while a parent process holds it: commands, one on each line, until it is closed.

use std::io::{BufRead, Read};

use kubewright_controller::{ControllerCommand, Manager};
use tokio::sync::{mpsc, oneshot};

/// The maximum length of a command.
const LONGEST: u64 = 64 << 10;

/// The number of commands that may wait.
const WAITING: usize = 64;

/// The commands of the parent process.
pub(super) struct Commands(mpsc::Receiver<ControllerCommand>);

/// Reads commands from standard input. The future completes when it is closed.
pub(super) fn read() -> (Commands, impl Future<Output = ()>) {
    let (sender, commands) = mpsc::channel(WAITING);
    let (open, closed) = oneshot::channel::<()>();
    // A blocking read cannot be cancelled, so the thread lives until the process ends.
    std::thread::spawn(move || {
        pass_on(std::io::stdin().lock(), |command| {
            // Without a receiver there is no manager any more.
            let _ = sender.blocking_send(command);
        });
        drop(open);
    });
    let closed = async {
        // Nothing is ever sent: dropping the sender wakes the receiver.
        _ = closed.await;
    };
    (Commands(commands), closed)
}

/// Reads commands until the end. Lines that are none are logged.
fn pass_on(mut input: impl BufRead, mut take: impl FnMut(ControllerCommand)) {
    loop {
        let mut line = Vec::new();
        match Read::take(&mut input, LONGEST).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            _ => return,
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(command) => take(command),
            Err(error) => tracing::warn!(%error, "invalid command on standard input"),
        }
    }
}

impl Commands {
    /// Executes the commands while the manager exists.
    pub(super) fn execute(self, manager: &Manager) {
        let (mut commands, manager) = (self.0, manager.clone());
        tokio::spawn(async move {
            loop {
                let command = tokio::select! {
                    () = manager.ended() => return,
                    command = commands.recv() => command,
                };
                let Some(command) = command else { return };
                if let Err(error) = manager.command(&command) {
                    tracing::warn!(%error, "command failed");
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_command_and_others_are_ignored() {
        let input = "{\"do\":\"pause\",\"controller\":\"captain\"}\n\nnonsense\n\
                     {\"do\":\"dance\"}\n{\"do\":\"enqueue\",\"controller\":\"captain\",\"key\":\"a/b\"}";
        let mut commands = Vec::new();
        pass_on(input.as_bytes(), |command| commands.push(command));
        let controller = || "captain".to_owned();
        let expected = [
            ControllerCommand::Pause {
                controller: controller(),
            },
            ControllerCommand::Enqueue {
                controller: controller(),
                key: "a/b".to_owned(),
            },
        ];
        assert_eq!(commands, expected);
    }

    #[test]
    fn a_line_without_an_end_is_read_in_parts() {
        let input =
            "x".repeat(3 * LONGEST as usize) + "\n{\"do\":\"resume\",\"controller\":\"c\"}\n";
        let mut commands = 0;
        pass_on(input.as_bytes(), |_| commands += 1);
        assert_eq!(commands, 1);
    }
}

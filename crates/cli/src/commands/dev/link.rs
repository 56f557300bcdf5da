//! [`OperatorLink`]: the console's way to the running operator: its metrics, and commands to its controllers.

use std::{
    io::Write,
    process::ChildStdin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{SyncSender, TrySendError, sync_channel},
    },
};

use async_trait::async_trait;
use kubewright_console::LocalOperator;
use kubewright_controller::ControllerCommand;
use tokio::sync::watch;

use crate::operator::endpoint;

/// The number of commands that may wait.
const WAITING: usize = 16;

/// The message while there is no operator.
const STOPPED: &str = "the operator is not running";

/// The standard input of the operator that runs at the moment. Closing it stops the operator.
#[derive(Clone, Default)]
pub(super) struct Input(Arc<Mutex<Option<SyncSender<String>>>>);

/// The running operator, as the console sees it.
pub(super) struct OperatorLink {
    address: watch::Receiver<Option<String>>,
    input: Input,
}

impl Input {
    /// Takes the standard input of a new process.
    pub(super) fn open(&self, mut input: ChildStdin) {
        let (sender, lines) = sync_channel::<String>(WAITING);
        // A process that does not read must not hold up anything else.
        std::thread::spawn(move || {
            for line in lines {
                if input.write_all(line.as_bytes()).is_err() {
                    return;
                }
            }
        });
        *self.lock() = Some(sender);
    }

    /// Closes it.
    pub(super) fn close(&self) {
        self.lock().take();
    }

    fn send(&self, command: &ControllerCommand) -> Result<(), String> {
        let line = serde_json::to_string(command).map_err(|error| error.to_string())?;
        let sender = self.lock().clone().ok_or(STOPPED)?;
        sender.try_send(line + "\n").map_err(|error| match error {
            TrySendError::Full(_) => "the operator does not take commands at the moment".into(),
            TrySendError::Disconnected(_) => STOPPED.into(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<SyncSender<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OperatorLink {
    pub(super) fn new(address: watch::Receiver<Option<String>>, input: Input) -> Self {
        Self { address, input }
    }

    fn address(&self) -> Option<String> {
        self.address.borrow().clone()
    }
}

#[async_trait]
impl LocalOperator for OperatorLink {
    async fn metrics(&self) -> Option<String> {
        let (status, text) = endpoint::get(&self.address()?, "/metrics").await.ok()?;
        (status == 200).then_some(text)
    }

    async fn command(&self, command: ControllerCommand) -> Result<(), String> {
        let address = self.address().ok_or(STOPPED)?;
        let known = endpoint::controllers(&address).await;
        let known = known.map_err(|error| format!("the operator does not answer: {error}"))?;
        let name = command.controller();
        if !known.controllers.iter().any(|known| known.name == name) {
            return Err(format!("the operator has no controller {name:?}"));
        }
        self.input.send(&command)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        io::Read,
        process::{Child, Command, Stdio},
    };

    use super::*;

    /// A process that prints what it reads.
    fn echo(input: &Input) -> Child {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        input.open(child.stdin.take().unwrap());
        child
    }

    #[test]
    fn commands_are_lines_and_closing_ends_the_process() {
        let input = Input::default();
        let pause = ControllerCommand::Pause {
            controller: "captain".into(),
        };
        assert_eq!(input.send(&pause), Err(STOPPED.to_owned()));
        let mut child = echo(&input);
        input.send(&pause).unwrap();
        input.send(&pause).unwrap();
        input.close();
        let mut read = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut read)
            .unwrap();
        child.wait().unwrap();
        let line = "{\"do\":\"pause\",\"controller\":\"captain\"}\n";
        assert_eq!(read, line.repeat(2));
        assert_eq!(input.send(&pause), Err(STOPPED.to_owned()));
    }

    #[tokio::test]
    async fn without_an_operator_there_are_no_metrics_and_no_commands() {
        let (_sender, address) = watch::channel(None);
        let link = OperatorLink::new(address, Input::default());
        assert_eq!(link.metrics().await, None);
        let resume = ControllerCommand::Resume {
            controller: "captain".into(),
        };
        assert_eq!(link.command(resume).await, Err(STOPPED.to_owned()));
    }
}

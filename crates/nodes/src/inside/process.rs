//! [`Process`]: a command that runs in a container, started by a client or as the container itself.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_machinery::{Status, status};
use kubewright_streams::{Exec, ExecSession, Exit};

use super::{Inside, terminal};
use crate::{
    image::Container,
    logs::Log,
    shell::{NOT_FOUND, Reader, Shell, Stdio, Writer, has_command},
};

/// The exit code of a process that was killed.
const KILLED: i32 = 137;

/// The exit code of a process that was asked to stop.
const STOPPED: i32 = 143;

/// Runs the commands of clients in a container.
pub(crate) struct Process {
    pub(crate) inside: Arc<Inside>,
    /// The log of the container. It ends with the container.
    pub(crate) log: Log,
}

#[async_trait]
impl Exec for Process {
    async fn exec(&self, session: ExecSession) -> Result<Exit, Status> {
        let command = session.options.command.clone();
        let program = command.first().map_or("", String::as_str);
        if !self.inside.has(program) {
            return Err(status::internal(format!(
                "error executing command in container: failed to exec in container: failed to start exec: OCI runtime exec failed: \
                 exec failed: unable to start container process: exec: {program:?}: executable file not found in $PATH: unknown"
            )));
        }
        let (io, pump) = terminal(session);
        let mut env = self.inside.env.clone();
        env.entry("TERM".to_owned())
            .or_insert_with(|| "xterm".to_owned());
        let shell = Shell::new(self.inside.world.clone(), env, &self.inside.directory);
        let run = shell.execute(&command, io);
        let code = tokio::select! {
            code = run => code,
            // The container has ended, and all its processes with it.
            () = self.log.ended() => KILLED,
            never = pump => match never {},
        };
        Ok(Exit::code(code))
    }
}

impl Inside {
    /// Reports whether there is a program with that name.
    pub(crate) fn has(&self, program: &str) -> bool {
        let path = crate::files::absolute(&self.directory, program);
        has_command(program) || program.contains('/') && self.world.files.read(&path).is_ok()
    }

    /// Runs a command without input. Returns its exit code and the end of its output.
    pub(crate) async fn check(&self, command: &[String]) -> (i32, String) {
        let (writer, reader) = tokio::io::duplex(1 << 16);
        let writer = Writer::new(writer);
        let io = Stdio {
            stdin: Reader::empty(),
            stdout: writer.clone(),
            stderr: writer,
        };
        let program = command.first().map_or("", String::as_str);
        if !self.has(program) {
            return (
                NOT_FOUND,
                format!("exec: {program:?}: executable file not found in $PATH"),
            );
        }
        let shell = Shell::new(self.world.clone(), self.env.clone(), &self.directory);
        let printed = async move {
            use tokio::io::AsyncReadExt;
            let (mut text, mut reader) = (Vec::new(), reader.take(10 << 10));
            // Output before an error is kept.
            let _ = reader.read_to_end(&mut text).await;
            let mut rest = reader.into_inner();
            let _ = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
            String::from_utf8_lossy(&text).into_owned()
        };
        tokio::join!(shell.execute(command, io), printed)
    }
}

/// Runs the command of a container in the shell, until it exits or the container is asked to stop.
pub(crate) async fn run_script(container: Container) -> i32 {
    let Some(inside) = container.inside().await else {
        return KILLED;
    };
    let expand = |word: &String| super::environment::expanded(word, &inside.env);
    let command: Vec<String> = container.arguments().iter().map(expand).collect();
    let shell = || Shell::new(inside.world.clone(), inside.env.clone(), &inside.directory);
    let io = container.stdio();
    let code = tokio::select! {
        code = shell().execute(&command, io.clone()) => Some(code),
        () = container.stopped() => None,
    };
    let signal = if code.is_none() { "TERM" } else { "EXIT" };
    let trap = inside.world.traps.lock().remove(signal);
    let code = match (code, trap) {
        (Some(code), None) => code,
        (None, None) => STOPPED,
        (code, Some(trap)) => {
            let after = shell().run_trap(trap, io.clone()).await;
            code.unwrap_or(after)
        }
    };
    let path = crate::files::absolute("/", container.message_path());
    if let Ok(message) = inside.world.files.read(&path) {
        container.set_termination_message(String::from_utf8_lossy(&message).into_owned());
    }
    code
}

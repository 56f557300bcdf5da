//! A child process whose output, both streams in one, can be waited for. It ends with its owner.

use std::{
    io::{PipeReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

/// A time limit that is longer than any wait of a test, so that a test that waits in vain fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A process under way, or one that has ended.
pub(crate) struct Process {
    child: Child,
    chunks: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Process {
    /// Starts a command with this text as its input.
    pub(crate) fn start(mut command: Command, input: Option<String>) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        let (reader, writer) = std::io::pipe().expect("a pipe");
        command
            .stdin(if input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(writer.try_clone().expect("a second end"))
            .stderr(writer);
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        // The command holds ends of the pipe too, so it would never be closed otherwise.
        drop(command);
        if let Some(input) = input {
            let mut stdin = child.stdin.take().expect("piped input");
            thread::spawn(move || std::io::Write::write_all(&mut stdin, input.as_bytes()));
        }
        Self {
            child,
            chunks: chunks(reader),
            seen: Vec::new(),
        }
    }

    /// Waits until `enough` holds for the output so far, and returns that output. Returns earlier if the output ends.
    pub(crate) fn output_until(
        &mut self,
        patience: Duration,
        enough: impl Fn(&str) -> bool,
    ) -> String {
        let deadline = Instant::now() + patience;
        loop {
            let text = String::from_utf8_lossy(&self.seen).into_owned();
            if enough(&text) {
                return text;
            }
            match self
                .chunks
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(chunk) => self.seen.extend(chunk),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return text,
            }
        }
    }

    /// Waits for the output to end, then for the process. Fails if that takes too long.
    pub(crate) fn finish(mut self) -> (String, ExitStatus) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self
                .chunks
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(chunk) => self.seen.extend(chunk),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!(
                        "still running, with this output:\n{}",
                        String::from_utf8_lossy(&self.seen)
                    )
                }
            }
        }
        let status = self.child.wait().expect("a status");
        (String::from_utf8_lossy(&self.seen).into_owned(), status)
    }

    /// Sends a signal, by name, and waits for the process to end.
    pub(crate) fn signal(self, name: &str) -> (String, ExitStatus) {
        let kill = format!("kill -{name} {}", self.child.id());
        let sent = Command::new("sh")
            .args(["-c", &kill])
            .status()
            .expect("a shell");
        assert!(sent.success());
        self.finish()
    }

    /// Ends the process at once and returns all it has written.
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().expect("a process to end");
        self.finish().0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn chunks(mut reader: PipeReader) -> Receiver<Vec<u8>> {
    let (sender, chunks) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(read @ 1..) = reader.read(&mut buffer) {
            if sender.send(buffer[..read].to_vec()).is_err() {
                break;
            }
        }
    });
    chunks
}

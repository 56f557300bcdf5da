//! [`Child`]: the operator, as a process that ends with this one.
//!
//! It is told to stop by closing its standard input, which also happens when this process is gone, however it went.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read},
    net::Ipv4Addr,
    path::Path,
    process::{ChildStdin, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kubewright_scaffold::Refusal;
use tokio::{net::TcpListener, sync::watch};

use super::{happening::Happening, screen::Screen};
use crate::commands::endpoint;

/// How long it has to stop by itself.
const GRACE: Duration = Duration::from_secs(5);

/// How often it is asked whether it is ready.
const EVERY: Duration = Duration::from_millis(20);

/// How long a line of its log may be.
const LONGEST: u64 = 64 * 1024;

/// A running operator.
pub(super) struct Child {
    pub(super) pid: u32,
    /// Where it answers.
    pub(super) address: String,
    /// Closed, it stops.
    input: Option<ChildStdin>,
    process: Arc<Mutex<std::process::Child>>,
    ended: watch::Receiver<Option<String>>,
}

impl Child {
    /// Starts it, and shows what it logs.
    pub(super) async fn start(
        executable: &Path,
        arguments: &[OsString],
        screen: &Screen,
    ) -> Result<Self, Refusal> {
        let wrong = |e: std::io::Error| Refusal::io("run", executable, &e);
        let address = free_address().await.map_err(wrong)?;
        let mut process = Command::new(executable)
            .args(["--until-stdin-closes", "--health-probe-bind-address", "0"])
            .args(["--metrics-bind-address", &address])
            .args(arguments)
            // Its log goes through a pipe.
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(wrong)?;
        let (pid, input) = (process.id(), process.stdin.take());
        if let Some(out) = process.stdout.take() {
            log(out, screen.clone());
        }
        let said = process.stderr.take().map(|out| log(out, screen.clone()));
        let process = Arc::new(Mutex::new(process));
        let (tell, ended) = watch::channel(None);
        let waits = process.clone();
        std::thread::spawn(move || {
            // It closes its output when it ends, and not before.
            let last = said.and_then(|thread| thread.join().ok()).flatten();
            let status = loop {
                match lock(&waits).try_wait() {
                    Ok(None) => {}
                    Ok(Some(status)) => break Some(status),
                    Err(_) => break None,
                }
                std::thread::sleep(EVERY);
            };
            tell.send_replace(Some(how(status, last)));
        });
        Ok(Self {
            pid,
            address,
            input,
            process,
            ended,
        })
    }

    /// Waits until it is ready; how it ended if it ended before.
    pub(super) async fn ready(&self) -> Result<(), String> {
        loop {
            if let Some(how) = self.ended.borrow().clone() {
                return Err(how);
            }
            if matches!(endpoint::get(&self.address, "/readyz").await, Ok((200, _))) {
                return Ok(());
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Waits until it has ended, and says how.
    pub(super) async fn ended(&self) -> String {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or_default(),
            Err(_) => "nobody knows how".to_owned(),
        }
    }

    /// Has it stop, by force if it takes too long.
    pub(super) async fn stop(mut self) {
        drop(self.input.take());
        if tokio::time::timeout(GRACE, self.ended()).await.is_err() {
            // It may have ended just now.
            let _ = lock(&self.process).kill();
            self.ended().await;
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.input.take());
        if self.ended.borrow().is_none() {
            // Nobody waits for it any more.
            let _ = lock(&self.process).kill();
        }
    }
}

fn lock(process: &Mutex<std::process::Child>) -> std::sync::MutexGuard<'_, std::process::Child> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows lines while they come. The last one is the result.
fn log(out: impl Read + Send + 'static, screen: Screen) -> std::thread::JoinHandle<Option<String>> {
    std::thread::spawn(move || {
        let mut out = BufReader::new(out);
        let mut last = None;
        loop {
            let mut line = Vec::new();
            let mut limited = Read::take(&mut out, LONGEST);
            match limited.read_until(b'\n', &mut line) {
                Ok(1..) => {}
                _ => return last,
            }
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            last = Some(line.clone());
            screen.tell(Happening::Log { line });
        }
    })
}

/// How a process ended, in words.
fn how(status: Option<ExitStatus>, last: Option<String>) -> String {
    let status = match status {
        Some(status) => status.to_string(),
        None => "nobody knows how".to_owned(),
    };
    match last {
        Some(last) if !last.is_empty() => format!("{status}: {last}"),
        _ => status,
    }
}

/// An address that nobody listens on at this moment.
async fn free_address() -> std::io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    Ok(listener.local_addr()?.to_string())
}

//! [`Child`]: the operator as a child process that ends with this process.
//!
//! Closing its standard input stops it. That also happens when this process dies, however it dies.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read},
    net::Ipv4Addr,
    path::Path,
    process::{ChildStdin, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kubewright_scaffold::Error;
use tokio::{net::TcpListener, sync::watch};

use super::{event::DevEvent, screen::Screen};
use crate::operator::endpoint;

/// The time limit for the operator to stop by itself.
const GRACE: Duration = Duration::from_secs(5);

/// The interval between readiness checks.
const EVERY: Duration = Duration::from_millis(20);

/// The maximum length of a log line.
const LONGEST: u64 = 64 * 1024;

/// A running operator.
pub(super) struct Child {
    pub(super) pid: u32,
    /// The address of its metrics and debug endpoints.
    pub(super) address: String,
    /// Standard input; the operator stops when it is closed.
    input: Option<ChildStdin>,
    process: Arc<Mutex<std::process::Child>>,
    ended: watch::Receiver<Option<String>>,
}

impl Child {
    /// Starts the operator and shows its log.
    pub(super) async fn start(
        executable: &Path,
        arguments: &[OsString],
        screen: &Screen,
    ) -> Result<Self, Error> {
        let wrong = |e: std::io::Error| Error::io("run", executable, &e);
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
            // Its output is closed when it ends.
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

    /// Waits until the operator is ready. Fails with its exit status if it ends first.
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

    /// Waits until the operator has ended, and describes its exit status.
    pub(super) async fn ended(&self) -> String {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or_default(),
            Err(_) => "with an unknown status".to_owned(),
        }
    }

    /// Stops the operator, by force if it takes too long.
    pub(super) async fn stop(mut self) {
        drop(self.input.take());
        if tokio::time::timeout(GRACE, self.ended()).await.is_err() {
            // It may have ended already.
            let _ = lock(&self.process).kill();
            self.ended().await;
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.input.take());
        if self.ended.borrow().is_none() {
            // The receiver may be gone.
            let _ = lock(&self.process).kill();
        }
    }
}

fn lock(process: &Mutex<std::process::Child>) -> std::sync::MutexGuard<'_, std::process::Child> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows lines as they arrive, and returns the last one.
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
            screen.show(DevEvent::Log { line });
        }
    })
}

/// Describes an exit status.
fn how(status: Option<ExitStatus>, last: Option<String>) -> String {
    let status = match status {
        Some(status) => status.to_string(),
        None => "with an unknown status".to_owned(),
    };
    match last {
        Some(last) if !last.is_empty() => format!("{status}: {last}"),
        _ => status,
    }
}

/// Returns a loopback address that is free at the moment.
async fn free_address() -> std::io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    Ok(listener.local_addr()?.to_string())
}

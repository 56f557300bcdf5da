//! [`Child`]: the operator as a child process that ends with this process.
//!
//! Closing its standard input stops it. That also happens when this process dies, however it dies. Commands to its controllers are
//! lines there.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io::{BufRead, BufReader, Read},
    net::Ipv4Addr,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kubewright_scaffold::Error;
use tokio::{net::TcpListener, sync::watch};

use super::{cause, link::Input, log as format, screen::Screen};
use crate::operator::endpoint;

/// The time limit for the operator to stop by itself.
const GRACE: Duration = Duration::from_secs(5);

/// The interval between readiness checks.
const EVERY: Duration = Duration::from_millis(20);

/// The time limit for the operator to become ready, before other things are done.
const PATIENCE: Duration = Duration::from_secs(15);

/// The maximum length of a log line.
const LONGEST: u64 = 64 * 1024;

/// A running operator.
pub(super) struct Child {
    pub(super) pid: u32,
    /// The address of its metrics and debug endpoints.
    pub(super) address: String,
    /// Standard input; the operator stops when it is closed.
    input: Input,
    process: Arc<Mutex<std::process::Child>>,
    ended: watch::Receiver<Option<String>>,
}

/// The state of an operator that was started.
pub(super) enum Readiness {
    Ready,
    /// Not ready yet, with the reason.
    NotReady(String),
    /// It has ended already.
    Ended,
}

impl Child {
    /// Starts the operator and shows its log.
    pub(super) async fn start(
        executable: &Path,
        arguments: &[OsString],
        input: &Input,
        screen: &Screen,
    ) -> Result<Self, Error> {
        let wrong = |e: std::io::Error| Error::io("run", executable, &e);
        let address = free_address().await.map_err(wrong)?;
        let mut command = Command::new(executable);
        command
            .args(["--until-stdin-closes", "--health-probe-bind-address", "0"])
            .args(["--metrics-bind-address", &address]);
        let names_format = |argument: &OsString| {
            let argument = argument.to_string_lossy();
            let (flag, _) = argument.split_once('=').unwrap_or((&argument, ""));
            flag == format::FORMAT
        };
        if !arguments.iter().any(names_format) {
            command.args([format::FORMAT, "json"]);
        }
        let mut process = command
            .args(arguments)
            // Its log goes through a pipe.
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(wrong)?;
        let pid = process.id();
        if let Some(stdin) = process.stdin.take() {
            input.open(stdin);
        }
        if let Some(out) = process.stdout.take() {
            log(out, screen.clone());
        }
        let said = process.stderr.take().map(|out| log(out, screen.clone()));
        let process = Arc::new(Mutex::new(process));
        let (tell, ended) = watch::channel(None);
        let waits = process.clone();
        std::thread::spawn(move || {
            // Its output is closed when it ends.
            let last = said.and_then(|thread| thread.join().ok());
            let last = last.unwrap_or_default();
            let status = loop {
                match lock(&waits).try_wait() {
                    Ok(None) => {}
                    Ok(Some(status)) => break Some(status),
                    Err(_) => break None,
                }
                std::thread::sleep(EVERY);
            };
            let how = cause::of(status, last.iter().map(String::as_str));
            tell.send_replace(Some(how));
        });
        Ok(Self {
            pid,
            address,
            input: input.clone(),
            process,
            ended,
        })
    }

    /// Waits until the operator is ready, for a limited time: files may have changed meanwhile.
    pub(super) async fn ready(&self) -> Readiness {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            if self.ended.borrow().is_some() {
                return Readiness::Ended;
            }
            let answer = endpoint::get(&self.address, "/readyz").await;
            match answer {
                Ok((200, _)) => return Readiness::Ready,
                _ if tokio::time::Instant::now() < until => {}
                Ok((_, body)) => return Readiness::NotReady(failed_checks(&body)),
                Err(error) => return Readiness::NotReady(error.to_string()),
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Waits until the operator has ended, and describes its exit status.
    pub(super) async fn ended(&self) -> String {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or_default(),
            Err(_) => "unknown exit status".to_owned(),
        }
    }

    /// Stops the operator, by force if it takes too long.
    pub(super) async fn stop(self) {
        self.input.close();
        if tokio::time::timeout(GRACE, self.ended()).await.is_err() {
            // It may have ended already.
            let _ = lock(&self.process).kill();
            self.ended().await;
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.input.close();
        if self.ended.borrow().is_none() {
            // The receiver may be gone.
            let _ = lock(&self.process).kill();
        }
    }
}

/// Returns the names of the checks that failed: `caches`.
fn failed_checks(body: &str) -> String {
    let failed = body.lines().filter_map(|line| {
        let name = line.strip_prefix("[-]")?;
        Some(name.split(" failed").next().unwrap_or(name))
    });
    let failed: Vec<&str> = failed.collect();
    match failed.is_empty() {
        true => body.trim().to_owned(),
        false => format!("failed checks: {}", failed.join(", ")),
    }
}

fn lock(process: &Mutex<std::process::Child>) -> std::sync::MutexGuard<'_, std::process::Child> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows lines as they arrive, and returns the last ones.
fn log(
    out: impl Read + Send + 'static,
    screen: Screen,
) -> std::thread::JoinHandle<VecDeque<String>> {
    std::thread::spawn(move || {
        let mut out = BufReader::new(out);
        let mut last = VecDeque::new();
        loop {
            let mut line = Vec::new();
            let mut limited = Read::take(&mut out, LONGEST);
            match limited.read_until(b'\n', &mut line) {
                Ok(1..) => {}
                _ => return last,
            }
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            screen.show(format::event(&line));
            last.push_back(line);
            if last.len() > cause::KEPT {
                last.pop_front();
            }
        }
    })
}

/// Returns a loopback address that is free at the moment.
async fn free_address() -> std::io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    Ok(listener.local_addr()?.to_string())
}

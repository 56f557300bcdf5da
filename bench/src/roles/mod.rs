//! Processes that the benchmark starts for itself: `kubewright-bench role NAME ARGUMENT`.
//!
//! | role | purpose |
//! |---|---|
//! | `aggregation` | serves typed kinds behind a cluster |
//! | `replay` | serves pods to informers |
//! | `informer` | our informer on these pods |
//! | `reading` | reads the same bytes and discards them: the lower limit for any informer |
//! | `store` | the durable store without a server |
//! | `workqueue` | our work queue |
//! | `test-cluster` | the embedded server, as tests start it |
//!
//! All except the first two print one line of JSON, as the peers do. Managers and controllers are in a separate program,
//! `bench/operator`.

pub(crate) mod aggregation;
pub(crate) mod informer;
mod reading;
pub(crate) mod store;
mod test_cluster;
mod workqueue;

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::Command,
    time::Duration,
};

use anyhow::{Context, bail};

use crate::{
    contest::{Contestant, Sample},
    peer, proc, replay,
};

/// The first argument of such a process.
pub(crate) const ARGUMENT: &str = "role";

/// Runs this process in its role, if it was started with one.
pub(crate) fn play() -> Option<anyhow::Result<()>> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    let role = arguments.next().unwrap_or_default();
    let argument = arguments.next().unwrap_or_default();
    let sample = match role.as_str() {
        "aggregation" => return Some(aggregation::serve(&argument)),
        "replay" => return Some(replay::serve()),
        "informer" => informer::run(&argument),
        "reading" => reading::run(&argument),
        "store" => store::run(&argument),
        "workqueue" => workqueue::run(&argument),
        "test-cluster" => test_cluster::run(&argument),
        other => Err(anyhow::anyhow!("no role {other:?}")),
    };
    Some(sample.and_then(print))
}

/// Returns a contestant that runs this program in a role.
pub(crate) fn contestant<'a>(
    name: &str,
    role: &'static str,
    limit: Duration,
    argument: impl Fn() -> anyhow::Result<String> + 'a,
) -> Contestant<'a> {
    Contestant::new(name, move || {
        peer::run(&mut command(role, &argument()?)?, limit)
    })
}

/// Returns the command of this program in a role.
pub(crate) fn command(role: &str, argument: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([ARGUMENT, role, argument]);
    Ok(command)
}

/// Prints a sample with the resources that the process used.
fn print(mut sample: Sample) -> anyhow::Result<()> {
    let me = [std::process::id()];
    sample.cpu_seconds = proc::processor_time(&me)?.as_secs_f64();
    sample.peak_bytes = proc::peak(&me)? as f64;
    println!("{}", serde_json::to_string(&sample)?);
    Ok(())
}

/// Requests a path of a run from the replay server on its own connection, and returns the start of the response.
fn ask(url: &str, path: &str) -> anyhow::Result<TcpStream> {
    let rest = url.strip_prefix("http://").context("not plain HTTP")?;
    let (address, base) = rest.split_once('/').context("no path")?;
    let mut connection = TcpStream::connect(address)?;
    let request = format!("GET /{base}{path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes())?;
    Ok(connection)
}

/// Allows the changes of a run to be sent.
fn go(url: &str) -> anyhow::Result<()> {
    let mut connection = ask(url, "/go")?;
    if connection.read(&mut [0; 256])? == 0 {
        bail!("the replay server hung up");
    }
    Ok(())
}

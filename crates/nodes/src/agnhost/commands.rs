//! `connect`, `entrypoint-tester` and `logs-generator`.

use std::{io, time::Duration};

use super::flags::Flags;
use crate::image::Container;

/// The timeout of `connect` unless its flag sets another one.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Connects to a port, and prints a known word if that fails.
pub(super) async fn connect(container: &Container, flags: &Flags<'_>) -> i32 {
    let target = flags.first().and_then(|target| target.rsplit_once(':'));
    let target = target.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    let Some((host, port)) = target else {
        container.log("UNKNOWN: missing port in address");
        return 1;
    };
    let host = host.trim_matches(['[', ']']);
    let limit = flags.duration("timeout").filter(|limit| !limit.is_zero());
    let limit = limit.unwrap_or(PATIENCE);
    match within(limit, container.connect(host, port)).await {
        Ok(()) => 0,
        Err(word) => {
            container.log(word);
            1
        }
    }
}

/// Waits for a connection. An error is one of the words that callers of `connect` look for.
pub(crate) async fn within<T>(
    limit: Duration,
    connecting: impl Future<Output = io::Result<T>>,
) -> Result<(), String> {
    let error = match tokio::time::timeout(limit, connecting).await {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(error)) => error,
        Err(_) => return Err("TIMEOUT".to_owned()),
    };
    Err(match error.kind() {
        io::ErrorKind::NotFound => format!("DNS: {error}"),
        io::ErrorKind::ConnectionRefused => "REFUSED".to_owned(),
        _ => format!("OTHER: {error}"),
    })
}

/// Runs a subcommand that the shell has, and prints its output.
pub(super) async fn in_shell(container: &Container, program: &str, subcommand: &str) -> i32 {
    let command = [program, subcommand].map(str::to_owned);
    let (code, printed) = container.execute(&command).await;
    for line in printed.lines() {
        container.log(line);
    }
    code
}

/// Prints the program and its arguments.
pub(super) fn entrypoint(container: &Container, program: &str, words: &[String]) -> i32 {
    let has_program = words.first().is_some_and(|first| first == program);
    let program = (!has_program).then_some(program);
    let words = words.iter().map(String::as_str);
    let words: Vec<&str> = program.into_iter().chain(words).collect();
    container.log(format!("[{}]", words.join(" ")));
    0
}

/// Writes lines at a steady pace.
pub(super) async fn logs(container: &Container, flags: &Flags<'_>) -> i32 {
    let Some((total, pause)) = pace(flags) else {
        container.log("Invalid total number of lines or duration");
        return 1;
    };
    for line in 0..total {
        container.log(log_line(container.now(), line));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = container.stopped() => break,
        }
    }
    0
}

/// Returns the number of lines to write, and the time between two of them.
pub(crate) fn pace(flags: &Flags<'_>) -> Option<(u32, Duration)> {
    let total = flags.get("log-lines-total").or_else(|| flags.get("t"));
    let total = total?.parse::<u32>().ok().filter(|total| *total > 0)?;
    let time = flags.duration("run-duration");
    let time = time.or_else(|| flags.duration("d"))?;
    Some((total, time / total))
}

/// Returns a line as API servers write them. It depends on the number only.
pub(crate) fn log_line(now: jiff::Timestamp, number: u32) -> String {
    const METHODS: [&str; 3] = ["GET", "POST", "PUT"];
    const NAMESPACES: [&str; 3] = ["kube-system", "default", "ns"];
    let digits = crate::image::hex(&["log", &number.to_string()]);
    let pick = |at: usize| usize::from(digits.as_bytes()[at]) % 3;
    let (method, namespace) = (METHODS[pick(0)], NAMESPACES[pick(1)]);
    let status = 200 + u32::from(digits.as_bytes()[2]) % 400;
    let time = now.strftime("%m%d %H:%M:%S%.6f");
    let pod = &digits[3..6];
    format!(
        "I{time}       1 logs_generator.go:76] {number} {method} /api/v1/namespaces/{namespace}/pods/{pod} {status}"
    )
}

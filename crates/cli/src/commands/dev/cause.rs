//! The cause of the end of an operator, from its exit status and the last lines it wrote.

use std::process::ExitStatus;

use super::{event::DevEvent, log};

/// The number of lines that are kept to find the cause in.
pub(super) const KEPT: usize = 200;

/// Describes the end of a process.
pub(super) fn of<'a>(
    status: Option<ExitStatus>,
    lines: impl IntoIterator<Item = &'a str>,
) -> String {
    let lines: Vec<&str> = lines.into_iter().collect();
    let status = status_words(status);
    match reason(&lines) {
        Some(reason) => format!("{status}: {reason}"),
        None => status,
    }
}

fn status_words(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => match status.code() {
            Some(code) => format!("exit code {code}"),
            // On Unix: `signal: 9 (SIGKILL)`.
            None => status.to_string(),
        },
        None => "unknown exit status".to_owned(),
    }
}

/// Returns the reason: a panic, the error that the program printed last, an error of its log, or its last line.
fn reason(lines: &[&str]) -> Option<String> {
    if let Some(panic) = panic(lines) {
        return Some(panic);
    }
    let last = lines.iter().rev();
    let errors = last.clone().find_map(|line| line.strip_prefix("error: "));
    if let Some(error) = errors {
        return Some(error.to_owned());
    }
    let logged = last.clone().find_map(|line| match log::event(line) {
        DevEvent::Log { level, line, .. } if level == "ERROR" => Some(line),
        _ => None,
    });
    let written = || {
        last.clone()
            .find(|line| !line.trim().is_empty())
            .map(|line| match log::event(line) {
                DevEvent::Log { line, .. } => line,
                _ => (*line).to_owned(),
            })
    };
    logged.or_else(written)
}

/// Returns the last panic: `panicked at src/lib.rs:3:5: no room`.
fn panic(lines: &[&str]) -> Option<String> {
    let at = lines
        .iter()
        .rposition(|line| line.starts_with("thread '") && line.contains(" panicked at "))?;
    let place = lines[at]
        .split_once(" panicked at ")?
        .1
        .trim_end_matches(':');
    let end = |line: &&&str| {
        let begins = ["note: ", "stack backtrace:", "{\""];
        !begins.iter().any(|begin| line.starts_with(begin))
    };
    let message: Vec<&str> = lines[at + 1..].iter().take_while(end).copied().collect();
    let message = message.join(" ");
    Some(match message.trim() {
        "" => format!("panicked at {place}"),
        message => format!("panicked at {place}: {message}"),
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn exit(code: i32) -> Option<ExitStatus> {
        Some(ExitStatus::from_raw(code << 8))
    }

    #[test]
    fn a_panic_is_shown_with_its_position() {
        let lines = [
            "{\"level\":\"info\",\"msg\":\"starts\"}",
            "thread 'main' (77) panicked at src/controller/captain.rs:12:5:",
            "no room",
            "for a captain",
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
        ];
        assert_eq!(
            of(exit(101), lines),
            "exit code 101: panicked at src/controller/captain.rs:12:5: no room for a captain"
        );
    }

    #[test]
    fn the_error_of_the_program_is_shown_despite_later_output() {
        let lines = [
            "error: cannot listen on 127.0.0.1:8080: Address already in use",
            "{\"level\":\"warn\",\"msg\":\"events were left unwritten at shutdown\"}",
        ];
        assert_eq!(
            of(exit(1), lines),
            "exit code 1: cannot listen on 127.0.0.1:8080: Address already in use"
        );
    }

    #[test]
    fn without_an_error_the_log_or_the_last_line_is_shown() {
        let logged = [
            "{\"level\":\"error\",\"msg\":\"manager ends\",\"error\":\"lost the lease\"}",
            "{\"level\":\"info\",\"msg\":\"bye\"}",
        ];
        assert_eq!(
            of(exit(1), logged),
            "exit code 1: manager ends error=lost the lease"
        );
        assert_eq!(of(exit(3), ["out of tea", ""]), "exit code 3: out of tea");
        assert_eq!(of(exit(0), []), "exit code 0");
        assert_eq!(of(Some(ExitStatus::from_raw(9)), []), "signal: 9 (SIGKILL)");
    }
}

//! [`LogOptions`]: the part of a container's log to return, and its format.

use jiff::Timestamp;

use crate::{
    logs::{Line, Log},
    pod::ContainerState,
};

/// The part of a log to return. The fields are those of `pods/log`.
///
/// ```
/// use kubewright_nodes::LogOptions;
///
/// let last = LogOptions { tail_lines: Some(1), ..LogOptions::default() };
/// # let _ = last;
/// ```
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    /// The log of the container before its last restart.
    pub previous: bool,
    /// Only lines from this time on.
    pub since: Option<Timestamp>,
    /// Only this many lines at the end, counted before older ones are filtered by `since`.
    pub tail_lines: Option<usize>,
    /// Whether each line begins with its time.
    pub timestamps: bool,
    /// At most this many bytes.
    pub limit_bytes: Option<usize>,
}

/// A log that does not exist, with the messages of a kubelet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The container has not started yet.
    #[error("container {container:?} in pod {pod:?} is waiting to start: {why}")]
    Waiting {
        /// The container.
        container: String,
        /// The pod.
        pod: String,
        /// The reason.
        why: &'static str,
    },
    /// The container has not been restarted.
    #[error("previous terminated container {container:?} in pod {pod:?} not found")]
    NoPrevious {
        /// The container.
        container: String,
        /// The pod.
        pod: String,
    },
    /// No node runs the container.
    #[error(transparent)]
    NotRunning(#[from] crate::control::NotRunning),
}

impl LogOptions {
    /// Prints the selected part of a log.
    pub(crate) fn print(&self, log: &Log) -> String {
        Printer::new(self.clone()).print(&log.read(0).0)
    }
}

/// Prints a log in parts.
pub(crate) struct Printer {
    options: LogOptions,
    printed: usize,
}

impl Printer {
    pub(crate) fn new(options: LogOptions) -> Self {
        Self {
            options,
            printed: 0,
        }
    }

    /// Reports whether the limit of bytes is reached.
    pub(crate) fn is_done(&self) -> bool {
        self.options
            .limit_bytes
            .is_some_and(|limit| self.printed >= limit)
    }

    /// Prints the selected part of further lines.
    pub(crate) fn print(&mut self, lines: &[Line]) -> String {
        // `tail_lines` counts only the lines that exist at the beginning.
        let tail = self.options.tail_lines.take();
        let skipped = tail.map_or(0, |tail| lines.len().saturating_sub(tail));
        let mut text = String::new();
        for line in &lines[skipped..] {
            if self.options.since.is_some_and(|since| line.at < since) {
                continue;
            }
            if self.options.timestamps {
                text.push_str(&line.at.strftime("%Y-%m-%dT%H:%M:%S%.9fZ ").to_string());
            }
            line.print(&mut text);
        }
        if let Some(limit) = self.options.limit_bytes {
            let mut end = limit.saturating_sub(self.printed).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            if end < text.len() {
                // The limit ends the output, even if it falls within a character.
                self.options.limit_bytes = Some(self.printed + end);
            }
            text.truncate(end);
        }
        self.printed += text.len();
        text
    }
}

impl ContainerState {
    /// Returns the current or the previous log.
    pub(crate) fn log_of(
        &self,
        options: &LogOptions,
        pod: &str,
        name: &str,
    ) -> Result<Log, LogError> {
        let (container, pod) = (name.to_owned(), pod.to_owned());
        if options.previous {
            let previous = self.previous_log.clone();
            return previous.ok_or(LogError::NoPrevious { container, pod });
        }
        match (self.waiting_reason(), &self.previous_log) {
            (None, _) => Ok(self.log.clone()),
            // The log of the previous run stays current while the container waits to restart.
            (Some(_), Some(previous)) => Ok(previous.clone()),
            (Some(why), None) => Err(LogError::Waiting {
                why: match why {
                    "ErrImagePull" => "image can't be pulled",
                    "ImagePullBackOff" => "trying and failing to pull image",
                    other => other,
                },
                container,
                pod,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_choose_the_part_of_a_log() {
        let log = Log::default();
        for second in 0..4 {
            let at = Timestamp::from_second(second).unwrap();
            log.write(at, &format!("line {second}"));
        }
        let print = |options: LogOptions| options.print(&log);
        let tail_lines = Some(2);
        let last = LogOptions {
            tail_lines,
            ..LogOptions::default()
        };
        assert_eq!(print(last.clone()), "line 2\nline 3\n");
        let since = Timestamp::from_second(3).ok();
        assert_eq!(print(LogOptions { since, ..last }), "line 3\n");
        let limit_bytes = Some(9);
        let cut = LogOptions {
            limit_bytes,
            ..LogOptions::default()
        };
        assert_eq!(print(cut), "line 0\nli");
        let timed = LogOptions {
            timestamps: true,
            tail_lines: Some(1),
            ..LogOptions::default()
        };
        assert_eq!(print(timed), "1970-01-01T00:00:03.000000000Z line 3\n");
    }
}

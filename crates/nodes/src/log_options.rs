//! [`LogOptions`]: which part of a container's log is wanted, and how it is printed.

use jiff::Timestamp;

use crate::{logs::Log, pod::ContainerState};

/// The part of a log that is wanted. The fields are those of `pods/log`.
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
    /// Lines from that time on only.
    pub since: Option<Timestamp>,
    /// That many lines from the end. They are counted before older ones are left out.
    pub tail_lines: Option<usize>,
    /// Begins each line with its time.
    pub timestamps: bool,
    /// At most that many bytes.
    pub limit_bytes: Option<usize>,
}

/// A log that does not exist, in the words of a kubelet.
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
    /// Prints the wanted part of a log.
    pub(crate) fn print(&self, log: &Log) -> String {
        let (lines, _, _) = log.read(0);
        let skipped = self
            .tail_lines
            .map_or(0, |tail| lines.len().saturating_sub(tail));
        let mut text = String::new();
        for line in lines.iter().skip(skipped) {
            if self.since.is_some_and(|since| line.at < since) {
                continue;
            }
            if self.timestamps {
                text.push_str(&line.at.strftime("%Y-%m-%dT%H:%M:%S%.9fZ ").to_string());
            }
            text.push_str(&line.text);
            text.push('\n');
        }
        if let Some(limit) = self.limit_bytes {
            let mut end = limit.min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        }
        text
    }
}

impl ContainerState {
    /// Returns the log that is wanted.
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
            // What it said before it had to wait is still the last that it said.
            (Some(_), Some(previous)) => Ok(previous.clone()),
            (Some(why), None) => Err(LogError::Waiting {
                why: match why {
                    "ErrImagePull" | "ImagePullBackOff" => "trying and failing to pull image",
                    "ErrImageNeverPull" => "image can't be pulled",
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

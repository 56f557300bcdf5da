//! [`Diagnosis`]: the reasons why no node can run a pod, in messages of kube-scheduler.

use std::collections::BTreeMap;

use crate::filter::{Reason, Rejection};

/// The longest note of an event, in bytes.
const LONGEST_NOTE: usize = 1024;

/// The message for a cluster without nodes.
pub(crate) const NO_NODES: &str = "no nodes available to schedule pods";

/// The outcome of preemption for nodes that no deletion of pods makes available.
pub(crate) const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";

/// The reasons why no node can run a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diagnosis {
    nodes: usize,
    reasons: BTreeMap<Reason, usize>,
    /// The reason for which no node was examined.
    pub(crate) before: Option<String>,
    /// The outcome of preemption.
    pub(crate) preemption: Option<String>,
}

impl Diagnosis {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            nodes,
            ..Self::default()
        }
    }

    /// Notes that no node can run a pod, whatever other pods are deleted.
    pub(crate) fn exclude_all(&mut self, reason: String) {
        self.before = Some(reason);
        let count = self.nodes;
        if count > 0 {
            self.preemption = Some(format!(
                "preemption: 0/{count} nodes are available: {count} {NOT_HELPFUL}."
            ));
        }
    }

    pub(crate) fn add(&mut self, rejection: &Rejection) {
        for reason in &rejection.reasons {
            self.add_reason(reason.clone());
        }
    }

    pub(crate) fn add_reason(&mut self, reason: impl Into<Reason>) {
        *self.reasons.entry(reason.into()).or_default() += 1;
    }

    /// Returns the message: `0/2 nodes are available: 2 Too many pods. preemption: …`.
    pub(crate) fn message(&self) -> String {
        if self.nodes == 0 && self.before.is_none() {
            return NO_NODES.to_owned();
        }
        let mut message = format!("0/{} nodes are available:", self.nodes);
        match &self.before {
            Some(before) => message.push_str(&format!(" {before}.")),
            None if self.reasons.is_empty() => {}
            None => {
                let reasons = self.reasons.iter();
                let mut reasons: Vec<String> = reasons
                    .map(|(reason, count)| format!("{count} {reason}"))
                    .collect();
                reasons.sort();
                message.push_str(&format!(" {}.", reasons.join(", ")));
            }
        }
        if let Some(preemption) = &self.preemption {
            message.push_str(&format!(" {preemption}"));
        }
        message
    }
}

/// Truncates a note to the maximum length of events.
pub(crate) fn note(message: &str) -> String {
    const SUFFIX: &str = " ...";
    if message.len() <= LONGEST_NOTE {
        return message.to_owned();
    }
    let mut end = LONGEST_NOTE - SUFFIX.len();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{SUFFIX}", &message[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_sorted_alphabetically() {
        let mut diagnosis = Diagnosis::new(12);
        for _ in 0..10 {
            diagnosis.add_reason("Too many pods");
        }
        diagnosis.add_reason("Insufficient memory");
        diagnosis.add_reason("Insufficient cpu");
        diagnosis.add_reason("Insufficient cpu");
        let text = "0/12 nodes are available: 1 Insufficient memory, 10 Too many pods, 2 Insufficient cpu.";
        assert_eq!(diagnosis.message(), text);
        diagnosis.preemption = Some("preemption: not eligible".to_owned());
        assert_eq!(
            diagnosis.message(),
            format!("{text} preemption: not eligible")
        );
        assert_eq!(Diagnosis::new(0).message(), NO_NODES);
    }

    #[test]
    fn long_notes_end_with_dots() {
        let cut = note(&"é".repeat(600));
        assert!(cut.len() <= LONGEST_NOTE && cut.ends_with("é ..."));
        assert_eq!(note("short"), "short");
    }
}

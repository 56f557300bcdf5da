//! [`TimelineItem`]: an event in the history of an object, as JSON and as a line of text.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Denial, Request, Revision, Run, RunRequest, Trigger, moment};

/// An event in the history of an object.
///
/// ```
/// use kubewright_ledger::TimelineItem;
///
/// let json = r#"{"type": "change", "change": {"revision": 7, "change": "created", "fieldManager": "kubectl", "summary": "created"}}"#;
/// let item: TimelineItem = serde_json::from_str(json)?;
/// assert_eq!(item.to_string(), "--:--:--.---  revision 7 by kubectl: created");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineItem {
    /// The time, if known.
    #[serde(default, with = "moment::optional")]
    pub time: Option<Timestamp>,
    /// The event.
    #[serde(flatten)]
    pub what: Moment,
}

/// A change, a run, a denied request, or a write without a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Moment {
    /// The object changed.
    Change {
        /// The change.
        change: Box<Revision>,
    },
    /// A controller reconciled the object.
    Run {
        /// The run.
        run: Box<Run>,
    },
    /// A request was denied.
    Denial {
        /// The request.
        denial: Box<Denial>,
    },
    /// A write changed nothing.
    Unchanged {
        /// The write.
        request: Box<Request>,
    },
}

impl fmt::Display for TimelineItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.time {
            Some(time) => write!(f, "{}", time.strftime("%H:%M:%S.%3f"))?,
            None => f.write_str("--:--:--.---")?,
        }
        f.write_str("  ")?;
        match &self.what {
            Moment::Change { change } => change.fmt(f),
            Moment::Run { run } => run.fmt(f),
            Moment::Denial { denial } => denial.fmt(f),
            Moment::Unchanged { request } => write!(f, "{request}, which changed nothing"),
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "revision {}", self.revision)?;
        match (self.field_manager.as_str(), &self.run) {
            ("", _) => {}
            (manager, None) => write!(f, " by {manager}")?,
            (manager, Some(run)) => write!(f, " by {manager} in run {run}")?,
        }
        write!(f, ": {}", self.summary)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.object)?;
        if !self.subresource.is_empty() {
            write!(f, " ({})", self.subresource)?;
        }
        let by = match self.field_manager.as_str() {
            "" => &self.user,
            manager => manager,
        };
        write!(f, " by {by}")?;
        match &self.run {
            Some(run) => write!(f, " in run {run}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (request, code) = (&self.request, self.request.code);
        write!(f, "{request} was refused: {code} {}", self.message)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let triggers: Vec<String> = self.triggers.iter().map(ToString::to_string).collect();
        let why = match triggers.is_empty() {
            true => "no known trigger".to_owned(),
            false => triggers.join(", "),
        };
        let took = self.duration_seconds * 1e3;
        write!(
            f,
            "run {} because of {why} -> {}, took {took:.1} ms",
            self.id, self.result
        )?;
        let writes: Vec<String> = self.writes().map(ToString::to_string).collect();
        match writes.is_empty() {
            true => Ok(()),
            false => write!(f, "; {}", writes.join(", ")),
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.object {
            Some(object) => {
                write!(f, "{object} {}", self.cause)?;
                match self.resource_version.as_str() {
                    "" => Ok(()),
                    version => write!(f, " at {version}"),
                }
            }
            None => write!(f, "{} {}", self.source, self.cause),
        }
    }
}

impl fmt::Display for RunRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.object)?;
        if !self.subresource.is_empty() {
            write!(f, " ({})", self.subresource)?;
        }
        match self.revision {
            Some(revision) => write!(f, " at {revision}"),
            None => Ok(()),
        }
    }
}

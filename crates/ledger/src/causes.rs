//! The writes that triggered a run, and the runs that a run triggered.

use serde::{Deserialize, Serialize};

use crate::{
    history::Revision,
    run::{Run, Trigger},
};

/// A trigger of a run, and the writer of the revision behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// The trigger.
    pub trigger: Trigger,
    /// The revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The user who wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The field manager.
    #[serde(
        default,
        rename = "fieldManager",
        skip_serializing_if = "String::is_empty"
    )]
    pub field_manager: String,
    /// The run that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// A short description of the difference.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

/// Returns the triggers of a run with the writes that caused them. `written` returns the history entry of a revision.
pub fn causes_of(run: &Run, written: impl Fn(&Trigger, u64) -> Option<Revision>) -> Vec<Cause> {
    let cause = |trigger: &Trigger| {
        let revision = trigger.resource_version.parse::<u64>().ok();
        let written = revision.and_then(|revision| written(trigger, revision));
        let written = written.unwrap_or_default();
        Cause {
            trigger: trigger.clone(),
            revision,
            user: written.user,
            field_manager: written.field_manager,
            run: written.run,
            summary: written.summary,
        }
    };
    run.triggers.iter().map(cause).collect()
}

/// Returns the ids of the runs that writes of a run triggered.
pub fn caused_by<'a>(run: &Run, all: impl IntoIterator<Item = &'a Run>) -> Vec<String> {
    let wrote: Vec<u64> = run
        .writes()
        .filter_map(|request| request.revision)
        .collect();
    let is_caused = |other: &&Run| {
        let versions = other
            .triggers
            .iter()
            .map(|trigger| &trigger.resource_version);
        let mut revisions = versions.filter_map(|version| version.parse::<u64>().ok());
        revisions.any(|revision| wrote.contains(&revision))
    };
    let caused = all.into_iter().filter(is_caused);
    caused.map(|run| run.id.clone()).collect()
}

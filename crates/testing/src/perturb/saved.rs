//! Results in a file, for the console.

use std::{fs, io, path::Path};

use kubewright_ledger::ObjectRef;
use serde_json::{Value, json};

use super::{Perturbation, Report};

/// The timelines of an object in the undisturbed run and in another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SideBySide {
    object: String,
    undisturbed: String,
    perturbed: String,
}

impl SideBySide {
    /// Returns the timelines of the objects that a reason names.
    pub(super) fn of(
        reason: &str,
        undisturbed: &[(ObjectRef, String)],
        perturbed: &[(ObjectRef, String)],
    ) -> Vec<Self> {
        let mut objects: Vec<&ObjectRef> = undisturbed
            .iter()
            .chain(perturbed)
            .map(|(object, _)| object)
            .filter(|object| names(reason, &object.to_string()))
            .collect();
        objects.sort();
        objects.dedup();
        let find = |timelines: &[(ObjectRef, String)], object: &ObjectRef| {
            let found = timelines.iter().find(|(known, _)| known == object);
            found.map_or_else(String::new, |(_, timeline)| timeline.clone())
        };
        let both = |object: &ObjectRef| Self {
            object: object.to_string(),
            undisturbed: find(undisturbed, object),
            perturbed: find(perturbed, object),
        };
        objects.into_iter().map(both).collect()
    }

    fn to_json(&self) -> Value {
        json!({
            "object": self.object,
            "undisturbed": self.undisturbed,
            "perturbed": self.perturbed,
        })
    }
}

/// Reports whether a reason names an object, possibly by a generated name such as `secrets default/apples-*`.
fn names(reason: &str, object: &str) -> bool {
    let mut starred = reason.split("; ").filter_map(|part| part.split_once('*'));
    reason.contains(object) || starred.any(|(prefix, _)| object.starts_with(prefix))
}

/// Writes the results to a file, and creates its directory.
pub(super) fn save(path: &Path, report: &Report) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut text = to_json(report).to_string();
    text.push('\n');
    fs::write(path, text)
}

fn to_json(report: &Report) -> Value {
    let survived = report.survived.iter().map(|perturbation| {
        let outcome = match report.missed.contains(perturbation) {
            true => "missed",
            false => "survived",
        };
        described(Some(*perturbation), outcome, "", &[])
    });
    let failed = report.failures.iter().map(|failure| {
        let timelines = report
            .timelines
            .iter()
            .find(|(perturbation, _)| Some(*perturbation) == failure.perturbation);
        let timelines = timelines.map_or(&[][..], |(_, timelines)| timelines);
        described(failure.perturbation, "failed", &failure.reason, timelines)
    });
    json!({
        "writes": report.writes,
        "steps": report.steps,
        "results": failed.chain(survived).collect::<Vec<_>>(),
    })
}

fn described(
    perturbation: Option<Perturbation>,
    outcome: &str,
    reason: &str,
    timelines: &[SideBySide],
) -> Value {
    let Some(perturbation) = perturbation else {
        return json!({"title": "undisturbed", "outcome": outcome, "reason": reason});
    };
    let code = format!("{perturbation:?}");
    let (kind, position) = match perturbation {
        Perturbation::Crash { after_write } => ("crash", Some(after_write)),
        Perturbation::Down { step } => ("down", Some(step)),
        Perturbation::StaleCache { events } => ("staleCache", Some(events)),
        Perturbation::Skipped { step } => ("skipped", Some(step)),
        Perturbation::LeaseLost { after_write } => ("leaseLost", Some(after_write)),
        Perturbation::SlowWebhooks => ("slowWebhooks", None),
        Perturbation::WebhookDown { call } => ("webhookDown", Some(call)),
        Perturbation::WebhookWrong { call } => ("webhookWrong", Some(call)),
        Perturbation::WebhookDenied { call } => ("webhookDenied", Some(call)),
    };
    json!({
        "title": perturbation.to_string(),
        "kind": kind,
        "position": position,
        "outcome": outcome,
        "reason": reason,
        "only": format!(".only(Perturbation::{code})"),
        "timelines": timelines.iter().map(SideBySide::to_json).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_name_their_outcome_and_how_to_repeat_them() {
        let mut report = Report::default();
        report.measured(4, 2);
        report.survived(Perturbation::Down { step: 1 }, true);
        report.survived(Perturbation::SlowWebhooks, false);
        let crash = Perturbation::Crash { after_write: 3 };
        report.failed(Some(crash), "secrets d/a is missing".to_owned());
        let object = ObjectRef::new("", "secrets", "d/a");
        let undisturbed = [(object, "created".to_owned())];
        let other = (ObjectRef::new("", "secrets", "d/b"), "created".to_owned());
        let both = SideBySide::of("secrets d/a is missing", &undisturbed, &[other]);
        report.timelines.push((crash, both));
        let saved = to_json(&report);
        assert_eq!((&saved["writes"], &saved["steps"]), (&json!(4), &json!(2)));
        let outcomes = saved["results"].as_array().unwrap().iter();
        let outcomes: Vec<&str> = outcomes.filter_map(|it| it["outcome"].as_str()).collect();
        assert_eq!(outcomes, ["failed", "survived", "missed"]);
        let failed = &saved["results"][0];
        assert_eq!(
            failed["only"],
            ".only(Perturbation::Crash { after_write: 3 })"
        );
        let expected =
            json!([{"object": "secrets d/a", "undisturbed": "created", "perturbed": ""}]);
        assert_eq!(failed["timelines"], expected);
    }
}

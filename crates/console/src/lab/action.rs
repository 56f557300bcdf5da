//! The actions of the page, as JSON.

use std::time::Duration;

use kubewright_apiserver::request::Verb;
use kubewright_cluster::{Fault, Match, PlannedFault};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The verbs of requests that a fault can be restricted to.
const VERBS: [Verb; 8] = [
    Verb::Get,
    Verb::List,
    Verb::Watch,
    Verb::Create,
    Verb::Update,
    Verb::Patch,
    Verb::Delete,
    Verb::DeleteCollection,
];

/// An action.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum Action {
    /// Injects a fault.
    Inject {
        fault: FaultForm,
        #[serde(default)]
        on: Box<Selection>,
        #[serde(default = "once")]
        times: usize,
    },
    /// Removes a fault.
    Remove { id: u64 },
    /// Removes all faults.
    Clear,
    /// Makes the server unavailable.
    Down,
    /// Makes the server available again.
    Up,
    /// Breaks all watches.
    CloseWatches,
    /// Advances the clock.
    Advance { seconds: f64 },
    /// Sets how fast the clock runs.
    Rate { rate: f64 },
    /// Drops the history.
    Compact,
    /// Starts a fork.
    Fork,
    /// Stops a fork.
    Drop { number: u64 },
}

/// A fault.
#[derive(Deserialize, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(super) enum FaultForm {
    Conflict,
    Gone,
    TooManyRequests {
        retry_after: u16,
    },
    Overloaded {
        retry_after: u16,
    },
    Refuse {
        code: u16,
        reason: String,
        message: String,
    },
    DropWatch {
        after: usize,
    },
    SlowWatch {
        milliseconds: u64,
    },
}

/// The selected requests; an empty field selects all.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Selection {
    #[serde(skip_serializing_if = "String::is_empty")]
    verb: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    subresource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    client: String,
}

fn once() -> usize {
    1
}

impl FaultForm {
    pub(super) fn fault(self) -> Fault {
        match self {
            Self::Conflict => Fault::Conflict,
            Self::Gone => Fault::Gone,
            Self::TooManyRequests { retry_after } => Fault::TooManyRequests { retry_after },
            Self::Overloaded { retry_after } => Fault::Overloaded { retry_after },
            Self::Refuse {
                code,
                reason,
                message,
            } => Fault::refuse(code.clamp(400, 599), &reason, &message),
            Self::DropWatch { after } => Fault::DropWatch { after },
            Self::SlowWatch { milliseconds } => Fault::SlowWatch {
                delay: Duration::from_millis(milliseconds),
            },
        }
    }

    fn of(fault: &Fault) -> Self {
        match fault {
            Fault::Conflict => Self::Conflict,
            Fault::Gone => Self::Gone,
            Fault::TooManyRequests { retry_after } => Self::TooManyRequests {
                retry_after: *retry_after,
            },
            Fault::Overloaded { retry_after } => Self::Overloaded {
                retry_after: *retry_after,
            },
            Fault::Refuse(status) => Self::Refuse {
                code: status.code,
                reason: status.reason.to_string(),
                message: status.message.clone(),
            },
            Fault::DropWatch { after } => Self::DropWatch { after: *after },
            Fault::SlowWatch { delay } => Self::SlowWatch {
                milliseconds: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            },
        }
    }
}

impl Selection {
    pub(super) fn select(self) -> Result<Match, String> {
        let given = |text: String| (!text.is_empty()).then_some(text);
        let verb = match self.verb.as_str() {
            "" => None,
            name => {
                let mut verbs = VERBS.into_iter();
                let known = verbs.find(|verb| verb.as_str() == name);
                Some(known.ok_or_else(|| format!("{name:?} is not a verb"))?)
            }
        };
        Ok(Match {
            verb,
            group: given(self.group),
            resource: given(self.resource),
            subresource: given(self.subresource),
            namespace: given(self.namespace),
            name: given(self.name),
            client: given(self.client),
        })
    }

    fn of(on: &Match) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
            verb: on
                .verb
                .map_or_else(String::new, |verb| verb.as_str().to_owned()),
            group: text(&on.group),
            resource: text(&on.resource),
            subresource: text(&on.subresource),
            namespace: text(&on.namespace),
            name: text(&on.name),
            client: text(&on.client),
        }
    }
}

/// Describes a fault that has not affected all its requests yet.
pub(super) fn described(planned: &PlannedFault) -> Value {
    json!({
        "id": planned.id,
        "fault": FaultForm::of(&planned.fault),
        "on": Selection::of(&planned.on),
        "times": planned.times,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_described_as_it_was_asked_for() {
        let asked = json!({
            "do": "inject", "times": 3,
            "fault": {"type": "refuse", "code": 503, "reason": "ServiceUnavailable", "message": "not now"},
            "on": {"verb": "update", "resource": "captains"},
        });
        let action: Action = serde_json::from_value(asked.clone()).unwrap();
        let Action::Inject { fault, on, times } = action else {
            panic!("not a fault")
        };
        let planned = PlannedFault {
            id: 7,
            fault: fault.fault(),
            on: on.select().unwrap(),
            times,
        };
        let described = described(&planned);
        assert_eq!(
            (&described["fault"], &described["on"]),
            (&asked["fault"], &asked["on"])
        );
        assert_eq!(
            (&described["id"], &described["times"]),
            (&json!(7), &json!(3))
        );
    }

    #[test]
    fn unknown_actions_and_verbs_are_rejected() {
        let parse = |value: Value| serde_json::from_value::<Action>(value).err();
        assert!(parse(json!({"do": "explode"})).is_some());
        assert!(parse(json!({"do": "inject", "fault": {"type": "dropWatch"}})).is_some());
        let on = Selection {
            verb: "juggle".into(),
            ..Selection::default()
        };
        assert_eq!(on.select().unwrap_err(), "\"juggle\" is not a verb");
    }
}

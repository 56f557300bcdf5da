//! [`Hook`]: one webhook of a configuration, read once.

use std::time::Duration;

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::conditions::MatchConditions;
use crate::{admission::matching::Criteria, outgoing::Endpoint};

/// The time limit of a webhook that sets none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A webhook.
pub(crate) struct Hook {
    pub(super) name: String,
    pub(super) configuration: String,
    /// Distinguishes webhooks of the same name: configuration, name, and the number of webhooks of that name before it.
    pub(super) key: String,
    pub(super) criteria: Criteria,
    pub(super) conditions: MatchConditions,
    pub(super) endpoint: Endpoint,
    /// Whether a failed call lets the request pass.
    pub(super) ignores_failure: bool,
    /// Whether the webhook may be called on a dry run.
    pub(super) dry_run: DryRun,
    pub(super) timeout: Duration,
    /// The version of the review, or `None` if the webhook accepts none that is known.
    pub(super) review: Option<ReviewVersion>,
    /// Whether the webhook is called again if the object was changed after its call.
    pub(super) reinvoked: bool,
}

/// The behaviour of a webhook on a dry run, from `sideEffects`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DryRun {
    Supported,
    Unsupported,
    /// The field is not set, which validation rejects.
    Unknown,
}

/// A version of `AdmissionReview`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    V1,
    V1Beta1,
}

impl ReviewVersion {
    /// Returns the version as in `apiVersion`.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        }
    }
}

impl Hook {
    /// Reads the webhooks of a stored configuration.
    pub(super) fn read_all(configuration: &Value) -> Vec<Self> {
        let name = configuration["metadata"]["name"].text();
        let webhooks = configuration["webhooks"].items();
        let mut hooks: Vec<Self> = Vec::with_capacity(webhooks.len());
        for webhook in webhooks {
            let own = webhook["name"].text();
            let before = hooks.iter().filter(|hook| hook.name == own).count();
            let key = format!("{name}/{own}/{before}");
            hooks.push(Self::read(name, key, webhook));
        }
        hooks
    }

    fn read(configuration: &str, key: String, webhook: &Value) -> Self {
        let mut versions = webhook["admissionReviewVersions"].texts();
        let timeout = u64::try_from(webhook["timeoutSeconds"].int()).unwrap_or_default();
        Self {
            name: webhook["name"].text().to_owned(),
            configuration: configuration.to_owned(),
            key,
            criteria: Criteria::of_webhook(webhook),
            conditions: MatchConditions::read(&webhook["matchConditions"]),
            endpoint: Endpoint::read(&webhook["clientConfig"]),
            ignores_failure: webhook["failurePolicy"] == "Ignore",
            dry_run: match webhook["sideEffects"].text() {
                "" => DryRun::Unknown,
                "None" | "NoneOnDryRun" => DryRun::Supported,
                _ => DryRun::Unsupported,
            },
            timeout: match timeout {
                0 => DEFAULT_TIMEOUT,
                seconds => Duration::from_secs(seconds),
            },
            review: versions.find_map(|version| match version {
                "v1" => Some(ReviewVersion::V1),
                "v1beta1" => Some(ReviewVersion::V1Beta1),
                _ => None,
            }),
            reinvoked: webhook["reinvocationPolicy"] == "IfNeeded",
        }
    }
}

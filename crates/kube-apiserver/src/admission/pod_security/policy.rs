//! [`Policy`]: the levels that the labels of a namespace ask for.

use std::fmt;

use kubewright_machinery::field::{self, FieldError, Path};

/// The prefix of the labels, and of the annotations in audit events.
pub(crate) const PREFIX: &str = "pod-security.kubernetes.io/";

/// A level of the Pod Security Standards. Later ones are stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodSecurityLevel {
    /// Everything is allowed.
    #[default]
    Privileged,
    /// Known ways to escalate privileges are forbidden.
    Baseline,
    /// The current best practices for pods are required.
    Restricted,
}

/// The version of the standards that a pod is held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PodSecurityVersion {
    /// The newest version that the server knows.
    #[default]
    Latest,
    /// The version of Kubernetes 1 with this minor number.
    Minor(u64),
}

/// A level and its version, such as `baseline:latest`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Standard {
    pub(crate) level: PodSecurityLevel,
    pub(crate) version: PodSecurityVersion,
}

/// The standard of each mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Pods that violate it are rejected.
    pub(crate) enforce: Standard,
    /// Violations are recorded in the audit event.
    pub(crate) audit: Standard,
    /// Violations are answered with a warning.
    pub(crate) warn: Standard,
}

/// The text of an invalid level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of privileged, baseline, restricted")]
pub struct InvalidPodSecurityLevel;

/// The text of an invalid version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be \"latest\" or \"v1.x\"")]
pub struct InvalidPodSecurityVersion;

impl std::str::FromStr for PodSecurityLevel {
    type Err = InvalidPodSecurityLevel;

    fn from_str(text: &str) -> Result<Self, InvalidPodSecurityLevel> {
        match text {
            "privileged" => Ok(Self::Privileged),
            "baseline" => Ok(Self::Baseline),
            "restricted" => Ok(Self::Restricted),
            _ => Err(InvalidPodSecurityLevel),
        }
    }
}

impl std::str::FromStr for PodSecurityVersion {
    type Err = InvalidPodSecurityVersion;

    fn from_str(text: &str) -> Result<Self, InvalidPodSecurityVersion> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        let digits = text.strip_prefix("v1.").unwrap_or_default();
        let canonical = digits.bytes().all(|b| b.is_ascii_digit())
            && (digits == "0" || !digits.starts_with('0'));
        // Go reads the number into a signed integer.
        match digits.parse::<i64>() {
            Ok(minor) if canonical => Ok(Self::Minor(minor.unsigned_abs())),
            _ => Err(InvalidPodSecurityVersion),
        }
    }
}

impl Policy {
    /// Returns the policy that labels ask for, and the errors in them. A level that is not valid counts as `restricted` when
    /// it is enforced, and as `privileged` otherwise; a version that is not valid counts as `latest`.
    pub(crate) fn of_labels<'a>(
        label: impl Fn(&str) -> Option<&'a str>,
        defaults: &Self,
    ) -> (Self, Vec<FieldError>) {
        let mut policy = *defaults;
        let mut labels = Labels {
            label,
            errors: Vec::new(),
        };
        let enforced = labels.level("enforce", &mut policy.enforce, PodSecurityLevel::Restricted);
        labels.version("enforce", &mut policy.enforce);
        labels.level("audit", &mut policy.audit, PodSecurityLevel::Privileged);
        labels.version("audit", &mut policy.audit);
        let warned = labels.level("warn", &mut policy.warn, PodSecurityLevel::Privileged);
        let warned_version = labels.version("warn", &mut policy.warn);
        // Whoever enforces a level and says nothing of warnings is warned at that level too.
        let stricter = policy.enforce.level > policy.warn.level;
        if warned == Found::Nothing && enforced == Found::Valid && stricter {
            policy.warn.level = policy.enforce.level;
            if warned_version == Found::Nothing {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, labels.errors)
    }

    /// Reports whether every mode allows everything.
    pub(crate) fn is_privileged(&self) -> bool {
        [self.enforce, self.audit, self.warn]
            .iter()
            .all(|standard| standard.level == PodSecurityLevel::Privileged)
    }

    /// Reports whether two policies allow the same.
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        let equivalent = |a: Standard, b: Standard| {
            a == b || (a.level == b.level && a.level == PodSecurityLevel::Privileged)
        };
        equivalent(self.enforce, other.enforce)
            && equivalent(self.audit, other.audit)
            && equivalent(self.warn, other.warn)
    }
}

/// The labels of a namespace, while they are read.
struct Labels<L> {
    label: L,
    errors: Vec<FieldError>,
}

/// The outcome of reading a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Valid,
    Invalid,
}

impl<'a, L: Fn(&str) -> Option<&'a str>> Labels<L> {
    fn level(&mut self, mode: &str, standard: &mut Standard, fallback: PodSecurityLevel) -> Found {
        self.read(format!("{PREFIX}{mode}"), &mut standard.level, fallback)
    }

    fn version(&mut self, mode: &str, standard: &mut Standard) -> Found {
        let key = format!("{PREFIX}{mode}-version");
        self.read(key, &mut standard.version, PodSecurityVersion::Latest)
    }

    fn read<T: std::str::FromStr<Err: fmt::Display>>(
        &mut self,
        key: String,
        target: &mut T,
        fallback: T,
    ) -> Found {
        let Some(text) = (self.label)(&key) else {
            return Found::Nothing;
        };
        match text.parse() {
            Ok(value) => {
                *target = value;
                Found::Valid
            }
            Err(error) => {
                *target = fallback;
                let path = Path::new("metadata").child("labels").key(&key);
                let error = field::invalid_str(&path, text, error.to_string());
                self.errors.push(error);
                Found::Invalid
            }
        }
    }
}

impl fmt::Display for PodSecurityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        })
    }
}

impl fmt::Display for PodSecurityVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Minor(minor) => write!(f, "v1.{minor}"),
        }
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(labels: &[(&str, &str)], defaults: &Policy) -> (Policy, Vec<String>) {
        let label = |key: &str| {
            let found = labels
                .iter()
                .find(|(name, _)| key.strip_prefix(PREFIX) == Some(name));
            found.map(|(_, value)| *value)
        };
        let (policy, errors) = Policy::of_labels(label, defaults);
        (policy, errors.iter().map(ToString::to_string).collect())
    }

    fn texts(policy: &Policy) -> [String; 3] {
        [policy.enforce, policy.audit, policy.warn].map(|standard| standard.to_string())
    }

    #[test]
    fn versions_are_written_one_way_only() {
        for good in ["latest", "v1.0", "v1.9", "v1.10", "v1.9223372036854775807"] {
            let version: PodSecurityVersion = good.parse().unwrap();
            assert_eq!(version.to_string(), good);
        }
        for bad in [
            "",
            "v1",
            "v1.",
            "v1.01",
            "v1.+1",
            "v1.-1",
            "v2.0",
            "1.2",
            "v1.1 ",
            "v1.9223372036854775808",
        ] {
            assert!(bad.parse::<PodSecurityVersion>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn warnings_follow_what_is_enforced() {
        let privileged = Policy::default();
        let (found, errors) = policy(
            &[("enforce", "baseline"), ("enforce-version", "v1.30")],
            &privileged,
        );
        assert!(errors.is_empty());
        assert_eq!(
            texts(&found),
            ["baseline:v1.30", "privileged:latest", "baseline:v1.30"]
        );
        let (found, _) = policy(
            &[("enforce", "restricted"), ("warn-version", "v1.20")],
            &privileged,
        );
        assert_eq!(found.warn.to_string(), "restricted:v1.20");
        let (found, _) = policy(
            &[("enforce", "restricted"), ("warn", "privileged")],
            &privileged,
        );
        assert_eq!(found.warn.to_string(), "privileged:latest");
        let mut strict = Policy::default();
        strict.warn.level = PodSecurityLevel::Restricted;
        let (found, _) = policy(&[("enforce", "baseline")], &strict);
        assert_eq!(found.warn.to_string(), "restricted:latest");
    }

    #[test]
    fn labels_that_are_not_valid_fail_closed_only_where_they_are_enforced() {
        let (found, errors) = policy(
            &[
                ("enforce", "x"),
                ("enforce-version", "1"),
                ("audit", ""),
                ("warn", "Baseline"),
                ("warn-version", "v1.x"),
            ],
            &Policy::default(),
        );
        assert_eq!(
            texts(&found),
            [
                "restricted:latest",
                "privileged:latest",
                "privileged:latest"
            ]
        );
        let levels = "must be one of privileged, baseline, restricted";
        let versions = "must be \"latest\" or \"v1.x\"";
        let expected = [
            ("enforce", "x", levels),
            ("enforce-version", "1", versions),
            ("audit", "", levels),
            ("warn", "Baseline", levels),
            ("warn-version", "v1.x", versions),
        ]
        .map(|(key, value, text)| {
            format!("metadata.labels[{PREFIX}{key}]: Invalid value: {value:?}: {text}")
        });
        assert_eq!(errors, expected);
    }

    #[test]
    fn privileged_policies_are_equivalent_at_every_version() {
        let mut other = Policy::default();
        other.audit.version = PodSecurityVersion::Minor(3);
        assert!(other.is_privileged());
        assert!(other.is_equivalent(&Policy::default()));
        other.audit.level = PodSecurityLevel::Baseline;
        assert!(!other.is_privileged());
        assert!(!other.is_equivalent(&Policy::default()));
    }
}

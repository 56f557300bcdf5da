//! The order of API versions: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then everything else by name.

use std::cmp::Ordering;

/// The stability level of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stability {
    /// An alpha version, which may change or be removed.
    Alpha,
    /// A beta version.
    Beta,
    /// A stable version.
    Ga,
}

/// A version that follows the naming rule, in parts. Greater is preferred.
///
/// ```
/// use kubewright_machinery::version::{KubeVersion, Stability, parse_kube_version};
///
/// let beta = KubeVersion { stability: Stability::Beta, major: 2, minor: 1 };
/// assert_eq!(parse_kube_version("v2beta1"), Some(beta));
/// assert!(beta < KubeVersion { stability: Stability::Ga, major: 1, minor: 0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubeVersion {
    /// The stability level.
    pub stability: Stability,
    /// The number after the `v`.
    pub major: i64,
    /// The number after `alpha` or `beta`, else 0.
    pub minor: i64,
}

/// Parses a version such as `v1` or `v2beta1`.
///
/// ```
/// use kubewright_machinery::version::parse_kube_version;
///
/// assert!(parse_kube_version("v1") > parse_kube_version("v2beta1"));
/// assert_eq!(parse_kube_version("latest"), None);
/// ```
pub fn parse_kube_version(version: &str) -> Option<KubeVersion> {
    let rest = version.strip_prefix('v')?;
    let end = rest
        .bytes()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(rest.len());
    let (major, rest) = rest.split_at(end);
    let (stability, minor) = if rest.is_empty() {
        (Stability::Ga, "0")
    } else if let Some(minor) = rest.strip_prefix("alpha") {
        (Stability::Alpha, minor)
    } else {
        (Stability::Beta, rest.strip_prefix("beta")?)
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    Some(KubeVersion {
        stability,
        major: number(major)?,
        minor: number(minor)?,
    })
}

/// Orders versions so that the preferred one is the greatest. Names outside the rule come below all that follow it, the
/// alphabetically first highest.
pub fn compare_kube_versions(a: &str, b: &str) -> Ordering {
    match (parse_kube_version(a), parse_kube_version(b)) {
        (Some(x), Some(y)) => x.cmp(&y),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_comes_before_beta_before_alpha_before_the_rest() {
        let sorted = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v",
            "v1beta",
            "v1gamma1",
            "v99999999999999999999",
        ];
        let mut versions = sorted;
        versions.reverse();
        versions.sort_by(|a, b| compare_kube_versions(b, a));
        assert_eq!(versions, sorted);
    }
}

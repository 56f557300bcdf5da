//! Approval of kinds in the groups of the Kubernetes community.

/// The content of the approval annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// The annotation names the approval.
    Approved,
    /// The annotation says that there is no approval.
    Bypassed,
    /// There is no annotation.
    Missing,
    /// The annotation has no valid value.
    Invalid,
}

/// The annotation in which a CustomResourceDefinition names its approval.
pub(super) const ANNOTATION: &str = "api-approved.kubernetes.io";

/// Reports whether the group belongs to the Kubernetes community.
pub fn is_protected_group(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        let parent = group.strip_suffix(domain);
        parent.is_some_and(|parent| parent.is_empty() || parent.ends_with('.'))
    })
}

/// Reads the annotation, and returns its message.
///
/// ```
/// use kubewright_builtins::apiextensions::{Approval, approval, is_protected_group};
///
/// assert!(is_protected_group("gateway.networking.k8s.io"));
/// assert_eq!(approval("unapproved, experimental").0, Approval::Bypassed);
/// assert_eq!(approval("https://github.com/kubernetes/enhancements/pull/1111").0, Approval::Approved);
/// ```
pub fn approval(annotation: &str) -> (Approval, String) {
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    if annotation.is_empty() {
        let text =
            format!("protected groups must have approval annotation \"{ANNOTATION}\", {SEE}");
        return (Approval::Missing, text);
    }
    if annotation.starts_with("unapproved") {
        let quoted = kubewright_machinery::go::quote(annotation);
        return (Approval::Bypassed, format!("not approved: {quoted}"));
    }
    let url = annotation.split_once("://").filter(|(scheme, rest)| {
        let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        named && !host.is_empty() && !host.bytes().any(|b| b <= b' ' || b == 0x7f)
    });
    if url.is_some() {
        return (Approval::Approved, format!("approved in {annotation}"));
    }
    let text = format!(
        "protected groups must have approval annotation \"{ANNOTATION}\" with either a URL or a reason starting with \"unapproved\", {SEE}"
    );
    (Approval::Invalid, text)
}

//! Names of operations: identifiers, tags, and the article before a kind.

/// Returns a group as tags name it: `core`, `apps`, `rbacAuthorization`, `skyExampleCom`.
pub(super) fn friendly_group(group: &str) -> String {
    if group.is_empty() {
        return "core".into();
    }
    let short = group.strip_suffix(".k8s.io").unwrap_or(group);
    let mut out = String::with_capacity(short.len());
    for (at, word) in short.split(['.', '-']).enumerate() {
        if at == 0 {
            out.push_str(word);
        } else {
            out.push_str(&title(word));
        }
    }
    out
}

/// Returns a group version as tags name it: `core_v1`.
pub(super) fn tag(group: &str, version: &str) -> String {
    format!("{}_{version}", friendly_group(group))
}

/// Returns a group version as identifiers name it: `CoreV1`.
pub(super) fn scope(group: &str, version: &str) -> String {
    title(&friendly_group(group)) + &title(version)
}

/// Capitalizes a word.
pub(super) fn title(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// Returns the article before a kind: ` a `, ` an `, or a space before a plural.
pub(super) fn article(noun: &str) -> &'static str {
    if noun.ends_with('s') && !noun.ends_with("ss") {
        return " ";
    }
    match noun.chars().next() {
        Some('A' | 'E' | 'I' | 'O' | 'U' | 'a' | 'e' | 'i' | 'o' | 'u') => " an ",
        _ => " a ",
    }
}

/// Returns a group as the names of schemas have it: `com.example.sky`.
pub(super) fn reversed(group: &str) -> String {
    let mut labels: Vec<&str> = group.split('.').filter(|label| !label.is_empty()).collect();
    labels.reverse();
    labels.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_friendly_names() {
        assert_eq!(tag("", "v1"), "core_v1");
        assert_eq!(
            tag("rbac.authorization.k8s.io", "v1"),
            "rbacAuthorization_v1"
        );
        assert_eq!(
            scope("flowcontrol.apiserver.k8s.io", "v1"),
            "FlowcontrolApiserverV1"
        );
        assert_eq!(scope("sky.example.com", "v1beta1"), "SkyExampleComV1beta1");
        assert_eq!(reversed("sky.example.com"), "com.example.sky");
    }

    #[test]
    fn articles_follow_the_noun() {
        assert_eq!(article("Event"), " an ");
        assert_eq!(article("PriorityClass"), " a ");
        assert_eq!(article("Endpoints"), " ");
    }
}

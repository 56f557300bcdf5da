//! How operations are named: identifiers, tags, and the article before a kind.

/// `core`, `apps`, `rbacAuthorization`, `skyExampleCom`: a group as tags name it.
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

/// `core_v1`
pub(super) fn tag(group: &str, version: &str) -> String {
    format!("{}_{version}", friendly_group(group))
}

/// `CoreV1`
pub(super) fn scope(group: &str, version: &str) -> String {
    title(&friendly_group(group)) + &title(version)
}

/// The word with its first letter large.
pub(super) fn title(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// ` a `, ` an `, or just a space before a plural.
pub(super) fn article(noun: &str) -> &'static str {
    if noun.ends_with('s') && !noun.ends_with("ss") {
        return " ";
    }
    match noun.chars().next() {
        Some('A' | 'E' | 'I' | 'O' | 'U' | 'a' | 'e' | 'i' | 'o' | 'u') => " an ",
        _ => " a ",
    }
}

/// `com.example.sky`: a group as the schemas of its kinds are named.
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

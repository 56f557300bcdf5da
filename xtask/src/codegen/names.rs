//! Rust names for what upstream names otherwise.

/// The name of a static: `HTTPGetAction` is `HTTP_GET_ACTION`.
pub(crate) fn screaming(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let after_lower = i > 0 && !chars[i - 1].is_uppercase();
        let before_lower = chars.get(i + 1).is_some_and(|next| next.is_lowercase());
        if i > 0 && c.is_uppercase() && (after_lower || before_lower) {
            out.push('_');
        }
        out.extend(c.to_uppercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::screaming;

    #[test]
    fn acronyms_stay_together() {
        assert_eq!(screaming("ObjectMeta"), "OBJECT_META");
        assert_eq!(screaming("HTTPGetAction"), "HTTP_GET_ACTION");
        assert_eq!(screaming("PodIP"), "POD_IP");
    }
}

//! Converts names of an API to Rust names.
//!
//! A name is split into words, which are joined again. `podCIDRs` is `pod` and `cidrs`, not `pod`, `cid`, `rs`.

/// Words that cannot be the name of a field without `r#`.
const KEYWORDS: [&str; 49] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield", "union",
];

/// Words that cannot be the name of a field, not even as raw identifiers.
const NEVER: [&str; 4] = ["self", "super", "crate", "_"];

/// Reports whether a name is reserved by Rust.
pub(crate) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name) || NEVER.contains(&name)
}

/// Returns the name of a field: `pod_cidrs` for `podCIDRs`, `r#type` for `type`.
pub(crate) fn field(name: &str) -> String {
    let snake = words(name).join("_");
    if snake.is_empty() {
        "field".to_owned()
    } else if snake.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{snake}")
    } else if NEVER.contains(&snake.as_str()) {
        format!("{snake}_")
    } else if KEYWORDS.contains(&snake.as_str()) {
        format!("r#{snake}")
    } else {
        snake
    }
}

/// Returns the name of a type or variant: `PrivateKey` for `privateKey`, `Tcp` for `TCP`. Empty if no character is usable.
pub(crate) fn pascal(name: &str) -> String {
    words(name)
        .iter()
        .map(|word| {
            let mut letters = word.chars();
            match letters.next() {
                Some(first) => first.to_ascii_uppercase().to_string() + letters.as_str(),
                None => String::new(),
            }
        })
        .collect()
}

/// Returns the name that `#[serde(rename_all = "camelCase")]` gives a field.
pub(crate) fn camel_of_field(field: &str) -> String {
    let mut camel = String::new();
    let mut up = false;
    for c in field.trim_start_matches("r#").chars() {
        match c {
            '_' => up = !camel.is_empty(),
            _ if up => {
                camel.push(c.to_ascii_uppercase());
                up = false;
            }
            _ => camel.push(c),
        }
    }
    camel
}

/// Returns the singular: `policy` for `policies`, `address` for `addresses`.
pub(crate) fn singular(name: &str) -> String {
    let stem = |cut: usize| name[..name.len() - cut].to_owned();
    if name.ends_with("ies") && name.len() > 4 {
        stem(3) + "y"
    } else if ["sses", "xes", "ches", "shes"]
        .iter()
        .any(|end| name.ends_with(end))
    {
        stem(2)
    } else if name.ends_with('s')
        && name.len() > 2
        && !["ss", "us", "is"].iter().any(|end| name.ends_with(end))
    {
        stem(1)
    } else {
        name.to_owned()
    }
}

/// Returns the words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let at = |i: usize| letters.get(i).copied().unwrap_or(' ');
    let mut words = Vec::new();
    let mut word = String::new();
    for (i, &c) in letters.iter().enumerate() {
        if !c.is_ascii_alphanumeric() {
            cut(&mut words, &mut word);
            continue;
        }
        let before = if i == 0 { ' ' } else { at(i - 1) };
        // `IPs` is one word: capitals and a plural s.
        let plural_next = at(i + 1) == 's' && !at(i + 2).is_ascii_lowercase();
        let starts = c.is_ascii_uppercase()
            && (!before.is_ascii_uppercase() || (at(i + 1).is_ascii_lowercase() && !plural_next));
        if starts {
            cut(&mut words, &mut word);
        }
        word.push(c.to_ascii_lowercase());
    }
    cut(&mut words, &mut word);
    words
}

fn cut(words: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_snakes() {
        assert_eq!(field("podCIDRs"), "pod_cidrs");
        assert_eq!(field("externalIPs"), "external_ips");
        assert_eq!(field("IPBlock"), "ip_block");
        assert_eq!(field("dnsNames"), "dns_names");
        assert_eq!(field("ca.crt"), "ca_crt");
        assert_eq!(field("type"), "r#type");
        assert_eq!(field("self"), "self_");
        assert_eq!(field("$"), "field");
        assert_eq!(field("2fa"), "_2fa");
    }

    #[test]
    fn types_are_pascals() {
        assert_eq!(pascal("privateKey"), "PrivateKey");
        assert_eq!(pascal("TCP"), "Tcp");
        assert_eq!(pascal("HTTPRoute"), "HttpRoute");
        assert_eq!(pascal("any-of"), "AnyOf");
        assert_eq!(pascal(">="), "");
    }

    #[test]
    fn serde_names_of_fields_are_known() {
        assert_eq!(camel_of_field("dns_names"), "dnsNames");
        assert_eq!(camel_of_field("r#type"), "type");
        assert_eq!(camel_of_field("pod_cidrs"), "podCidrs");
        assert_eq!(camel_of_field("_2fa"), "2fa");
    }

    #[test]
    fn one_of_several_has_its_own_word() {
        let cases = [
            ("conditions", "condition"),
            ("policies", "policy"),
            ("addresses", "address"),
            ("status", "status"),
            ("matches", "match"),
            ("ingress", "ingress"),
            ("keys", "key"),
        ];
        for (many, one) in cases {
            assert_eq!(singular(many), one);
        }
    }
}

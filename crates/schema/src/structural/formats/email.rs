//! Mail addresses, as Go's `mail.ParseAddress` reads them: bare, or after a name in angle brackets.

pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    match text.strip_suffix('>').and_then(|t| t.rsplit_once('<')) {
        Some((name, address)) => is_phrase(name.trim_matches([' ', '\t'])) && is_address(address),
        None => is_address(text),
    }
}

fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let local_is_fine = match local.strip_prefix('"').and_then(|l| l.strip_suffix('"')) {
        Some(quoted) => !quoted.is_empty() && is_quoted(quoted),
        None => is_dot_atom(local),
    };
    let domain_is_fine = match domain.strip_prefix('[').and_then(|d| d.strip_suffix(']')) {
        Some(literal) => literal.parse::<core::net::IpAddr>().is_ok(),
        None => is_dot_atom(domain),
    };
    local_is_fine && domain_is_fine
}

fn is_phrase(text: &str) -> bool {
    if let Some(quoted) = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        return is_quoted(quoted);
    }
    text.split([' ', '\t'])
        .filter(|word| !word.is_empty())
        .all(|word| word.chars().all(|c| is_atom(c) || c == '.'))
}

fn is_quoted(text: &str) -> bool {
    let mut escaped = false;
    for c in text.chars() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == '"' || (c.is_control() && c != '\t') {
            return false;
        }
    }
    !escaped
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && part.chars().all(is_atom))
}

fn is_atom(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c)
}

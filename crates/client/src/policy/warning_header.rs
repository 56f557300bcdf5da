//! The `Warning` header: `299 - "text" "date"`, several separated by commas.

use http::{HeaderMap, header::WARNING};

/// A warning of the server.
///
/// ```
/// use kubewright_client::policy::{Warning, parse_warnings};
///
/// let mut headers = http::HeaderMap::new();
/// headers.insert("warning", "299 - \"v1beta1 is deprecated\"".parse().unwrap());
/// let warning = Warning { code: 299, agent: "-".into(), text: "v1beta1 is deprecated".into() };
/// assert_eq!(parse_warnings(&headers), [warning]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Warning {
    /// The code: 299 for warnings that users should see.
    pub code: u16,
    /// The agent that warns; `-` if unknown.
    pub agent: String,
    /// The text.
    pub text: String,
}

/// Parses the warnings of a response. A malformed warning ends its header; those before it count.
pub fn parse_warnings(headers: &HeaderMap) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for value in headers.get_all(WARNING) {
        let Ok(mut rest) = std::str::from_utf8(value.as_bytes()) else {
            continue;
        };
        while !rest.trim().is_empty() {
            let Some((warning, after)) = parse_one(rest) else {
                tracing::debug!(header = rest, "malformed warning");
                break;
            };
            warnings.push(warning);
            rest = after;
        }
    }
    warnings
}

fn parse_one(header: &str) -> Option<(Warning, &str)> {
    let mut parts = header.trim().splitn(3, ' ');
    let (code, agent, rest) = (parts.next()?, parts.next()?, parts.next()?);
    if code.len() != 3 || !code.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    if agent.is_empty() || agent.contains(char::is_control) {
        return None;
    }
    let (text, rest) = quoted(rest)?;
    if text.contains(char::is_control) {
        return None;
    }
    let mut rest = rest.trim();
    if let Some(date) = rest.strip_prefix('"') {
        rest = date.split_once('"')?.1.trim();
    }
    let rest = match rest.strip_prefix(',') {
        Some(next) => next,
        None if rest.is_empty() => rest,
        None => return None,
    };
    let warning = Warning {
        code: code.parse().ok()?,
        agent: agent.to_owned(),
        text,
    };
    Some((warning, rest))
}

/// Parses a quoted string, and returns what follows it.
fn quoted(input: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut escaped = false;
    let inside = input.strip_prefix('"')?;
    for (at, c) in inside.char_indices() {
        match c {
            '"' if !escaped => return Some((text, inside.get(at + 1..)?)),
            '\\' if !escaped => escaped = true,
            other => {
                text.push(other);
                escaped = false;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn parsed(values: &[&str]) -> Vec<(u16, String, String)> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WARNING, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let warnings = parse_warnings(&headers).into_iter();
        warnings.map(|w| (w.code, w.agent, w.text)).collect()
    }

    fn one(code: u16, agent: &str, text: &str) -> (u16, String, String) {
        (code, agent.to_owned(), text.to_owned())
    }

    #[test]
    fn warnings_are_read_from_every_header() {
        assert_eq!(
            parsed(&[
                r#"299 - "v1 Foo is deprecated""#,
                r#" 199 me "say \"hi\" \\ \x" "Wed, 21 Oct 2015 07:28:00 GMT" , 299 you "two, three""#,
            ]),
            [
                one(299, "-", "v1 Foo is deprecated"),
                one(199, "me", r#"say "hi" \ x"#),
                one(299, "you", "two, three"),
            ]
        );
    }

    #[test]
    fn malformed_warnings_are_skipped() {
        for malformed in [
            "",
            "299",
            "299 -",
            "299 - text",
            r#"29 - "text""#,
            r#"2x9 - "text""#,
            r#"299  "text""#,
            r#"299 - "text"#,
            r#"299 - "text" "date"#,
            r#"299 - "text" more"#,
        ] {
            assert_eq!(parsed(&[malformed]), [], "{malformed}");
        }
        assert_eq!(parsed(&[r#"299 - "good", bad"#]), [one(299, "-", "good")]);
    }

    proptest! {
        #[test]
        fn any_text_survives_being_quoted(text in "[^\\p{Cc}]{0,40}") {
            let escaped = text.replace('\\', r"\\").replace('"', "\\\"");
            prop_assert_eq!(parsed(&[&format!("299 - \"{escaped}\"")]), [one(299, "-", &text)]);
        }

        #[test]
        fn no_header_makes_it_panic(value in "[ -~]{0,60}") {
            parsed(&[&value]);
        }
    }
}

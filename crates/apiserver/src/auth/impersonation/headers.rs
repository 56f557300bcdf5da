//! The impersonation headers of a request.

use http::{HeaderMap, HeaderName};
use kubewright_machinery::{Status, go, status};

use super::super::request_headers;
use crate::request::UserInfo;

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";

/// Returns whether a header is an impersonation header.
fn takes_part(name: &HeaderName) -> bool {
    let name = name.as_str();
    matches!(name, USER | UID | GROUP) || name.starts_with(EXTRA)
}

/// Returns whether a request asks for impersonation.
pub(crate) fn is_requested(headers: &HeaderMap) -> bool {
    headers.keys().any(takes_part)
}

/// Returns the user that the headers name and removes them, so that nothing behind can tell or pass them on.
///
/// # Errors
///
/// Fails for parts of a user without a name.
pub(super) fn take(headers: &mut HeaderMap) -> Result<Option<UserInfo>, Status> {
    if !is_requested(headers) {
        return Ok(None);
    }
    let first = |name| request_headers::values(headers, name).next();
    let wanted = UserInfo {
        name: first(USER).unwrap_or_default(),
        uid: first(UID).unwrap_or_default(),
        groups: request_headers::values(headers, GROUP).collect(),
        extra: request_headers::extra(headers, &[EXTRA]),
    };
    if wanted.name.is_empty() {
        return match super::has_only_a_name(&wanted) {
            true => Ok(None),
            false => Err(without_name(&wanted)),
        };
    }
    let names: Vec<HeaderName> = headers.keys().filter(|n| takes_part(n)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    Ok(Some(wanted))
}

/// Returns the error for parts of a user without a name. It shows them in the syntax of Go.
fn without_name(wanted: &UserInfo) -> Status {
    let texts = |texts: &[String]| {
        let texts: Vec<String> = texts.iter().map(|text| go::quote(text)).collect();
        format!("[]string{{{}}}", texts.join(", "))
    };
    let groups = match wanted.groups.as_slice() {
        [] => "[]string(nil)".to_owned(),
        groups => texts(groups),
    };
    let extra: Vec<String> = wanted
        .extra
        .iter()
        .map(|(key, values)| format!("{}:{}", go::quote(key), texts(values)))
        .collect();
    let extra = match extra.as_slice() {
        [] => "(nil)".to_owned(),
        extra => format!("{{{}}}", extra.join(", ")),
    };
    let uid = go::quote(&wanted.uid);
    status::bad_request(format!(
        "requested &user.DefaultInfo{{Name:\"\", UID:{uid}, Groups:{groups}, \
         Extra:map[string][]string{extra}}} without impersonating a user name"
    ))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn the_headers_name_a_user_and_are_removed() {
        let mut sent = headers(&[
            ("impersonate-user", "bob"),
            ("impersonate-user", "eve"),
            ("impersonate-uid", "1"),
            ("impersonate-group", "b"),
            ("impersonate-group", ""),
            ("impersonate-group", "b"),
            ("impersonate-extra-example.com%2fkey", "c"),
            ("impersonate-extra-", "d"),
            ("impersonate-extra-a%2", "e"),
            ("impersonate-odd", "f"),
            ("accept", "*/*"),
        ]);
        let bob = take(&mut sent).unwrap().unwrap();
        assert_eq!((bob.name.as_str(), bob.uid.as_str()), ("bob", "1"));
        assert_eq!(bob.groups, ["b", "", "b"]);
        let keys: Vec<&str> = bob.extra.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["", "a%2", "example.com/key"]);
        assert_eq!(
            sent,
            headers(&[("impersonate-odd", "f"), ("accept", "*/*")])
        );
    }

    #[test]
    fn parts_without_a_name_are_shown_in_the_syntax_of_go() {
        let message = |list| take(&mut headers(list)).unwrap_err().message;
        assert_eq!(
            message(&[
                ("impersonate-user", ""),
                ("impersonate-group", "g"),
                ("impersonate-group", "\"h\""),
                ("impersonate-uid", "u"),
                ("impersonate-extra-b", "2"),
                ("impersonate-extra-a", "1"),
            ]),
            r#"requested &user.DefaultInfo{Name:"", UID:"u", Groups:[]string{"g", "\"h\""}, Extra:map[string][]string{"a":[]string{"1"}, "b":[]string{"2"}}} without impersonating a user name"#
        );
        assert_eq!(
            message(&[("impersonate-uid", "u")]),
            r#"requested &user.DefaultInfo{Name:"", UID:"u", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name"#
        );
    }

    #[test]
    fn an_empty_name_alone_and_unknown_headers_ask_for_nothing() {
        for list in [
            &[("impersonate-user", "")][..],
            &[("impersonate-uid", "")],
            &[("impersonate-odd", "g")],
            &[],
        ] {
            assert_eq!(take(&mut headers(list)), Ok(None));
        }
    }
}

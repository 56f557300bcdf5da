//! The headers of a forwarded request: those of one hop are removed, and those that name the user are added.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        CONNECTION, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING,
        UPGRADE, VIA,
    },
};
use kubewright_apiserver::request::UserInfo;

const REMOTE_USER: HeaderName = HeaderName::from_static("x-remote-user");
const REMOTE_UID: HeaderName = HeaderName::from_static("x-remote-uid");
const REMOTE_GROUP: HeaderName = HeaderName::from_static("x-remote-group");
const REMOTE_EXTRA: &str = "x-remote-extra-";
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Removes the headers that concern only the connection of the client. Those of an upgrade are kept.
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let upgrade = headers.get(UPGRADE).cloned();
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let always = [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in named.iter().chain(&always) {
        headers.remove(name);
    }
    if let Some(protocol) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, protocol);
    }
}

/// Adds the headers that name the user, replacing those of the client.
///
/// # Errors
///
/// Fails if a name cannot be part of a header.
pub(super) fn set_user(headers: &mut HeaderMap, user: &UserInfo) -> Result<(), String> {
    let forged: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with("x-remote-"))
        .cloned()
        .collect();
    for name in forged {
        headers.remove(name);
    }
    headers.insert(REMOTE_USER, value(&user.name)?);
    if !user.uid.is_empty() {
        headers.insert(REMOTE_UID, value(&user.uid)?);
    }
    for group in &user.groups {
        headers.append(REMOTE_GROUP, value(group)?);
    }
    for (key, values) in &user.extra {
        let name = format!("{REMOTE_EXTRA}{}", escape(key));
        let name = HeaderName::try_from(name).map_err(|e| e.to_string())?;
        for text in values {
            headers.append(name.clone(), value(text)?);
        }
    }
    Ok(())
}

/// Says where the request came from: the original host and path, the protocol, and the address of the client, if it is known.
pub(crate) fn set_forwarded(headers: &mut HeaderMap, path: &str, peer: Option<String>) {
    let host = headers.get(HOST).cloned();
    let mut set = |name: &'static str, value: Option<HeaderValue>| {
        if let Some(value) = value {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("x-forwarded-host", host);
    set("x-forwarded-proto", Some(HeaderValue::from_static("https")));
    set("x-forwarded-uri", HeaderValue::from_str(path).ok());
    let Some(peer) = peer else {
        return;
    };
    let before = headers.get("x-forwarded-for").and_then(|v| v.to_str().ok());
    let chain = match before {
        Some(before) => format!("{before}, {peer}"),
        None => peer,
    };
    if let Ok(chain) = HeaderValue::from_str(&chain) {
        headers.insert("x-forwarded-for", chain);
    }
}

/// Adds the mark of this server. Returns false if the request has it already: it was forwarded here before.
pub(super) fn mark(headers: &mut HeaderMap, mark: &str) -> bool {
    let is_own = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains(mark));
    if headers.get_all(VIA).iter().any(is_own) {
        return false;
    }
    if let Ok(value) = HeaderValue::from_str(&format!("1.1 {mark}")) {
        headers.append(VIA, value);
    }
    true
}

fn value(text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|e| e.to_string())
}

/// Escapes a key of extra attributes, so that it can be part of the name of a header.
fn escape(key: &str) -> String {
    let mut out = String::new();
    for byte in key.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
        match plain {
            true => out.push(byte.to_ascii_lowercase() as char),
            false => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forged_users_are_replaced() {
        let mut headers = HeaderMap::new();
        for name in ["x-remote-user", "x-remote-group", "x-remote-extra-scopes"] {
            headers.insert(name, HeaderValue::from_static("system:masters"));
        }
        let mut user = UserInfo {
            name: "alice".into(),
            groups: vec!["a".into(), "b".into()],
            ..UserInfo::default()
        };
        let values = vec!["x".into()];
        user.extra.push(("example.com/Ünit".into(), values));
        set_user(&mut headers, &user).unwrap();
        assert_eq!(headers[REMOTE_USER], "alice");
        let groups: Vec<_> = headers.get_all(REMOTE_GROUP).iter().collect();
        assert_eq!(groups, ["a", "b"]);
        assert_eq!(headers["x-remote-extra-example.com%2f%c3%9cnit"], "x");
        assert!(!headers.contains_key("x-remote-extra-scopes"));
        assert!(!headers.contains_key(REMOTE_UID));
        user.name = "a\nb".into();
        assert!(set_user(&mut headers, &user).is_err());
    }

    #[test]
    fn headers_of_a_hop_are_removed_but_for_upgrades() {
        let mut headers = HeaderMap::new();
        headers.insert(CONNECTION, HeaderValue::from_static("close, X-Secret"));
        headers.insert("x-secret", HeaderValue::from_static("1"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        remove_hop_by_hop(&mut headers);
        assert!(headers.is_empty(), "{headers:?}");
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        remove_hop_by_hop(&mut headers);
        assert_eq!(headers[CONNECTION], "Upgrade");
        assert_eq!(headers[UPGRADE], "websocket");
    }

    #[test]
    fn a_forwarding_loop_is_detected() {
        let mut headers = HeaderMap::new();
        assert!(mark(&mut headers, "server-a"));
        assert!(mark(&mut headers, "server-b"));
        assert!(!mark(&mut headers, "server-a"));
    }
}

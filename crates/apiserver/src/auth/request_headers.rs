//! [`RequestHeaders`]: users that an authenticating proxy names in headers.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use kubewright_derive::boxed_async;
use percent_encoding::percent_decode_str;

use super::{Authenticated, AuthenticationError, Authenticator, Credentials, TrustedAuthorities};
use crate::request::UserInfo;

/// Authenticates users that a proxy names in headers, such as `X-Remote-User`.
///
/// The proxy must present a certificate of its own authorities; headers of any other client are ignored. These
/// authorities should be other ones than those of users. If they sign certificates of users too, restrict the names of
/// proxies with [`allow_names`](Self::allow_names).
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::{SystemClock, auth::{RequestHeaders, TrustedAuthorities}};
/// # let key = rcgen::KeyPair::generate().unwrap();
/// # let mut params = rcgen::CertificateParams::default();
/// # params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
/// # let pem = params.self_signed(&key).unwrap().pem();
///
/// let proxies = TrustedAuthorities::from_pem(pem.as_bytes(), Arc::new(SystemClock)).unwrap();
/// let authenticator = RequestHeaders::new(proxies).allow_names(["front-proxy-client"]);
/// # let _ = authenticator;
/// ```
#[derive(Clone, Debug)]
pub struct RequestHeaders {
    authorities: TrustedAuthorities,
    allowed_names: Vec<String>,
    names: HeaderNames,
}

/// The headers in which a proxy names a user.
///
/// ```
/// use kubewright_apiserver::auth::HeaderNames;
///
/// assert_eq!(HeaderNames::default().user, ["X-Remote-User"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderNames {
    /// Headers with the name of the user; the first that is set wins. Defaults to `X-Remote-User`.
    pub user: Vec<String>,
    /// Headers with the uid; the first that is set wins. Defaults to `X-Remote-Uid`.
    pub uid: Vec<String>,
    /// Headers with groups, all of whose values count. Defaults to `X-Remote-Group`.
    pub group: Vec<String>,
    /// Prefixes of headers with extra attributes. Defaults to `X-Remote-Extra-`.
    pub extra_prefix: Vec<String>,
}

impl Default for HeaderNames {
    fn default() -> Self {
        let one = |name: &str| vec![name.to_owned()];
        Self {
            user: one("X-Remote-User"),
            uid: one("X-Remote-Uid"),
            group: one("X-Remote-Group"),
            extra_prefix: one("X-Remote-Extra-"),
        }
    }
}

impl RequestHeaders {
    /// Trusts proxies with a certificate of these authorities.
    pub fn new(authorities: TrustedAuthorities) -> Self {
        Self {
            authorities,
            allowed_names: Vec::new(),
            names: HeaderNames::default(),
        }
    }

    /// Restricts the common names of proxies. Without names, any certificate of the authorities will do.
    #[must_use]
    pub fn allow_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.allowed_names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the headers (default: `X-Remote-User` and so on).
    #[must_use]
    pub fn headers(mut self, names: HeaderNames) -> Self {
        self.names = names;
        self
    }

    /// Returns the authorities of proxies.
    pub fn authorities(&self) -> &TrustedAuthorities {
        &self.authorities
    }

    /// Returns the common names that proxies may have; empty if any will do.
    pub fn allowed_names(&self) -> &[String] {
        &self.allowed_names
    }
}

#[boxed_async]
impl Authenticator for RequestHeaders {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let Some(peer) = credentials.peer else {
            return Ok(None);
        };
        let proxy = self.authorities.common_name(peer)?;
        if !self.allowed_names.is_empty() && !self.allowed_names.contains(&proxy) {
            return Err(AuthenticationError::new(format!(
                "x509: subject with cn={proxy} is not in the allowed list"
            )));
        }
        Ok(self.names.user(&credentials.parts.headers).map(Into::into))
    }

    fn remove_identity(&self, headers: &mut HeaderMap) {
        self.names.remove(headers);
    }
}

impl HeaderNames {
    fn user(&self, headers: &HeaderMap) -> Option<UserInfo> {
        let name = first(headers, &self.user)?;
        let groups = self.group.iter().flat_map(|name| values(headers, name));
        Some(UserInfo {
            name,
            uid: first(headers, &self.uid).unwrap_or_default(),
            groups: groups.filter(|group| !group.is_empty()).collect(),
            extra: extra(headers, &self.extra_prefix),
        })
    }

    /// Removes the headers.
    fn remove(&self, headers: &mut HeaderMap) {
        for name in [&self.user, &self.uid, &self.group].into_iter().flatten() {
            headers.remove(name.as_str());
        }
        let is_extra = |header: &&HeaderName| {
            let mut prefixes = self.extra_prefix.iter();
            prefixes.any(|prefix| without_prefix(header, prefix).is_some())
        };
        let extra: Vec<HeaderName> = headers.keys().filter(is_extra).cloned().collect();
        for name in extra {
            headers.remove(name);
        }
    }
}

/// Returns the attributes in the headers with one of the prefixes, by key.
pub(super) fn extra<P: AsRef<str>>(
    headers: &HeaderMap,
    prefixes: &[P],
) -> Vec<(String, Vec<String>)> {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for prefix in prefixes {
        for header in headers.keys() {
            if let Some(key) = without_prefix(header, prefix.as_ref()) {
                let found = values(headers, header.as_str());
                extra.entry(decoded(key)).or_default().extend(found);
            }
        }
    }
    extra.into_iter().collect()
}

/// Returns the first value that is not empty, of the first header that has one.
fn first(headers: &HeaderMap, names: &[String]) -> Option<String> {
    let values = names.iter().filter_map(|name| values(headers, name).next());
    values.into_iter().find(|value| !value.is_empty())
}

pub(super) fn values(headers: &HeaderMap, name: &str) -> impl Iterator<Item = String> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.get_all(name).into_iter().map(text)
}

fn without_prefix<'a>(header: &'a HeaderName, prefix: &str) -> Option<&'a str> {
    let (start, key) = header.as_str().split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(key)
}

/// Returns the key that a header encodes. A key that is not encoded properly is returned unchanged.
fn decoded(key: &str) -> String {
    let escapes_are_whole = key.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    match percent_decode_str(key).decode_utf8() {
        Ok(decoded) if escapes_are_whole => decoded.into_owned(),
        _ => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_user_has_a_name_and_the_other_named_attributes() {
        let names = HeaderNames::default();
        let user = names.user(&headers(&[
            ("x-remote-user", "alice"),
            ("x-remote-user", "mallory"),
            ("x-remote-uid", "1"),
            ("x-remote-group", "dev"),
            ("x-remote-group", ""),
            ("x-remote-group", "ops"),
            ("x-remote-extra-scopes", "a"),
            ("x-remote-extra-scopes", "b"),
            ("x-remote-extra-example.com%2fcase%41", "c"),
            ("x-remote-extra-half%2", "d"),
        ]));
        let extra = |key: &str, values: &[&str]| {
            let values = values.iter().map(|value| (*value).to_owned());
            (key.to_owned(), values.collect::<Vec<_>>())
        };
        let expected = UserInfo {
            name: "alice".into(),
            uid: "1".into(),
            groups: vec!["dev".into(), "ops".into()],
            extra: vec![
                extra("example.com/caseA", &["c"]),
                extra("half%2", &["d"]),
                extra("scopes", &["a", "b"]),
            ],
        };
        assert_eq!(user, Some(expected));
        let nobody = headers(&[("x-remote-user", ""), ("x-remote-group", "system:masters")]);
        assert_eq!(names.user(&nobody), None);
    }

    #[test]
    fn headers_of_any_configured_name_are_removed() {
        let one = |name: &str| vec![name.to_owned()];
        let names = HeaderNames {
            user: one("X-User"),
            uid: one("X-Id"),
            group: one("X-Team"),
            extra_prefix: one("X-Of-User-"),
        };
        let mut headers = headers(&[
            ("x-user", "admin"),
            ("x-user", "root"),
            ("x-id", "0"),
            ("x-team", "system:masters"),
            ("x-of-user-scopes", "all"),
            ("x-username", "kept"),
        ]);
        names.remove(&mut headers);
        assert_eq!(headers.len(), 1, "{headers:?}");
        assert_eq!(headers["x-username"], "kept");
    }

    #[test]
    fn the_first_header_with_a_value_names_the_user() {
        let names = HeaderNames {
            user: vec!["X-First".into(), "X-Second".into()],
            ..HeaderNames::default()
        };
        let name = |list: &[(&str, &str)]| names.user(&headers(list)).map(|user| user.name);
        assert_eq!(
            name(&[("x-second", "b"), ("x-first", "a")]).as_deref(),
            Some("a")
        );
        assert_eq!(
            name(&[("x-second", "b"), ("x-first", "")]).as_deref(),
            Some("b")
        );
        assert_eq!(name(&[("x-remote-user", "c")]), None);
    }
}

//! Bearer tokens: where requests carry them, and the authenticators that know them.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, header};
use kubewright_derive::boxed_async;

use super::{Authenticated, AuthenticationError, Authenticator, Credentials};

/// The error for a token that no authenticator accepts.
pub(super) const INVALID_TOKEN: &str = "invalid bearer token";

/// The warning about a token that is ignored.
const EXTRA_SPACE: &str = "the provided Authorization header contains extra space before the bearer token, and is ignored";

/// The subprotocol by which browsers, which cannot set headers of WebSockets, send a token.
const SUBPROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// Authenticates users by bearer tokens.
///
/// [`BearerTokens`] finds the token of a request. Implement this trait for tokens of your own, for instance those of an
/// identity provider:
///
/// ```
/// use kubewright_apiserver::boxed_async;
/// use kubewright_apiserver::{
///     auth::{Authenticated, AuthenticationError, TokenAuthenticator},
///     request::UserInfo,
/// };
///
/// struct Vouchers;
///
/// #[boxed_async]
/// impl TokenAuthenticator for Vouchers {
///     async fn authenticate_token(
///         &self,
///         token: &str,
///         _audiences: &[String],
///     ) -> Result<Option<Authenticated>, AuthenticationError> {
///         let Some(number) = token.strip_prefix("voucher-") else {
///             return Ok(None); // Another authenticator may know it.
///         };
///         match number.parse::<u32>() {
///             Ok(number) => Ok(Some(UserInfo { name: format!("guest-{number}"), ..UserInfo::default() }.into())),
///             Err(_) => Err(AuthenticationError::new("the voucher has no number")),
///         }
///     }
/// }
/// ```
#[boxed_async]
pub trait TokenAuthenticator: Send + Sync + 'static {
    /// Returns the user of a token, or `None` if it is not a token of this kind. `audiences` are those that the token must
    /// be meant for, one of them; with none of them, any will do.
    ///
    /// # Errors
    ///
    /// Fails if the token is of this kind and invalid. The text must not contain the token.
    async fn authenticate_token(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Option<Authenticated>, AuthenticationError>;
}

/// Authenticates requests by a bearer token in the `Authorization` header, or in a subprotocol of a WebSocket.
///
/// Token authenticators are called in order until one returns a user. A token that none accepts is an error, so that a
/// request with it is not taken for an anonymous one.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use kubewright_apiserver::auth::{BearerTokens, Credentials, TokenFile};
///
/// let file = TokenFile::parse("31ada4fd,alice,1001").unwrap();
/// let tokens = BearerTokens::new(vec![Arc::new(file)]);
/// let user = async |header: &str| {
///     let request = http::Request::get("/").header("authorization", header).body(()).unwrap();
///     Credentials::new(&request.into_parts().0, &[]).authenticate(&tokens).await
/// };
/// assert_eq!(user("Bearer 31ada4fd").await.unwrap().unwrap().user.name, "alice");
/// assert_eq!(user("Basic YWxpY2U6").await, Ok(None));
/// assert_eq!(user("Bearer other").await.unwrap_err().to_string(), "invalid bearer token");
/// # });
/// ```
#[derive(Clone)]
pub struct BearerTokens {
    members: Vec<Arc<dyn TokenAuthenticator>>,
}

/// The `Authorization` header of a request.
enum Authorization<'a> {
    /// No bearer token.
    Absent,
    /// More than one space before the token, which is ignored.
    Misplaced,
    /// A token.
    Token(&'a [u8]),
}

impl BearerTokens {
    /// Asks these authenticators in order.
    pub fn new(members: Vec<Arc<dyn TokenAuthenticator>>) -> Self {
        Self { members }
    }

    async fn known(
        &self,
        token: Option<&str>,
        audiences: &[String],
    ) -> Result<Authenticated, AuthenticationError> {
        let mut errors = AuthenticationError::new(INVALID_TOKEN);
        if let Some(token) = token {
            for member in &self.members {
                match member.authenticate_token(token, audiences).await {
                    Ok(Some(known)) => return Ok(known),
                    Ok(None) => {}
                    Err(error) => errors.append(error),
                }
            }
        }
        Err(errors)
    }
}

#[boxed_async]
impl Authenticator for BearerTokens {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let (headers, audiences) = (&credentials.parts.headers, credentials.audiences);
        let mut errors: Option<AuthenticationError> = None;
        if let Authorization::Token(token) = authorization(headers) {
            let token = std::str::from_utf8(token).ok();
            match self.known(token, audiences).await {
                Ok(known) => return Ok(Some(known)),
                Err(error) => errors = Some(error),
            }
        }
        if headers.contains_key(header::SEC_WEBSOCKET_PROTOCOL) && is_websocket(headers) {
            let known = match subprotocol_token(headers) {
                Ok(None) => None,
                Ok(Some(token)) => Some(self.known(Some(&token), audiences).await),
                Err(text) => Some(Err(AuthenticationError::new(text))),
            };
            match (known, &mut errors) {
                (Some(Ok(known)), _) => return Ok(Some(known)),
                (Some(Err(error)), Some(errors)) => errors.append(error),
                (Some(Err(error)), None) => errors = Some(error),
                (None, _) => {}
            }
        }
        errors.map_or(Ok(None), Err)
    }
}

/// Returns the warning about a token that is ignored because of a second space before it.
pub(crate) fn extra_space_warning(headers: &HeaderMap) -> Option<&'static str> {
    match authorization(headers) {
        Authorization::Misplaced => Some(EXTRA_SPACE),
        _ => None,
    }
}

/// Removes the token from the subprotocols of a WebSocket, so that it is not sent back to the client.
pub(crate) fn remove_subprotocol_token(headers: &mut HeaderMap) {
    if !headers.contains_key(header::SEC_WEBSOCKET_PROTOCOL) {
        return;
    }
    let all: Vec<&str> = subprotocols(headers).collect();
    let others: Vec<&str> = all
        .iter()
        .copied()
        .filter(|protocol| !protocol.starts_with(SUBPROTOCOL))
        .collect();
    if others.len() == all.len() {
        return;
    }
    match HeaderValue::from_str(&others.join(",")) {
        Ok(others) => headers.insert(header::SEC_WEBSOCKET_PROTOCOL, others),
        Err(_) => headers.remove(header::SEC_WEBSOCKET_PROTOCOL),
    };
}

/// Returns the token of the `Authorization` header. What follows the token after a space is ignored.
pub(super) fn header_token(headers: &HeaderMap) -> Option<&[u8]> {
    match authorization(headers) {
        Authorization::Token(token) => Some(token),
        _ => None,
    }
}

fn authorization(headers: &HeaderMap) -> Authorization<'_> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Authorization::Absent;
    };
    let mut parts = value
        .as_bytes()
        .trim_ascii()
        .splitn(3, |byte| *byte == b' ');
    let scheme = parts.next().unwrap_or_default();
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Authorization::Absent;
    }
    match (parts.next(), parts.next()) {
        (None, _) | (Some(b""), None) => Authorization::Absent,
        (Some(b""), Some(_)) => Authorization::Misplaced,
        (Some(token), _) => Authorization::Token(token),
    }
}

fn is_websocket(headers: &HeaderMap) -> bool {
    let has = |name: header::HeaderName, wanted: &str| {
        let values = headers.get_all(name).into_iter();
        values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|part| part.trim().eq_ignore_ascii_case(wanted))
    };
    has(header::CONNECTION, "upgrade") && has(header::UPGRADE, "websocket")
}

fn subprotocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// Returns the token among the subprotocols of a WebSocket.
fn subprotocol_token(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    let (mut found, mut others) = (None, false);
    for protocol in subprotocols(headers) {
        let Some(encoded) = protocol.strip_prefix(SUBPROTOCOL) else {
            others = true;
            continue;
        };
        if found.is_some() {
            return Err("multiple base64.bearer.authorization tokens specified");
        }
        let token = BASE64_URL_SAFE_NO_PAD
            .decode(encoded)
            .map_err(|_| "invalid base64.bearer.authorization token encoding")?;
        let token = String::from_utf8(token);
        found = Some(token.map_err(|_| "invalid base64.bearer.authorization token")?);
    }
    // The server must be able to select another one, since it must not return the token.
    match found.filter(|token| !token.is_empty()) {
        Some(_) if !others => Err("missing additional subprotocol"),
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::TokenFile;

    fn tokens() -> BearerTokens {
        let file = TokenFile::parse("good,alice,1\nother,bob,2").unwrap();
        BearerTokens::new(vec![Arc::new(file)])
    }

    async fn outcome(headers: &[(&str, &str)]) -> Result<Option<String>, String> {
        let mut request = http::Request::get("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let known = tokens().authenticate(&Credentials::new(&parts, &[])).await;
        known
            .map(|known| known.map(|known| known.user.name.clone()))
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn the_header_is_read_as_kubernetes_reads_it() {
        let alice = Ok(Some("alice".to_owned()));
        for header in [
            "Bearer good",
            "bEaReR good",
            "  Bearer good ",
            "Bearer good more",
        ] {
            let found = outcome(&[("authorization", header)]).await;
            assert_eq!(found, alice, "{header:?}");
        }
        for header in [
            "",
            "Bearer",
            "Bearer ",
            "Basic good",
            "good",
            "Bearer  good",
            "Bearergood",
        ] {
            let found = outcome(&[("authorization", header)]).await;
            assert_eq!(found, Ok(None), "{header:?}");
        }
        for header in ["Bearer bad", "Bearer good,", "Bearer \u{fc}"] {
            let found = outcome(&[("authorization", header)]).await;
            assert_eq!(found, Err(INVALID_TOKEN.to_owned()), "{header:?}");
        }
    }

    #[test]
    fn only_a_second_space_is_warned_about() {
        let warned = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            extra_space_warning(&headers).is_some()
        };
        assert!(warned("Bearer  good"));
        assert!(warned("Bearer   good"));
        for value in ["Bearer good", "Bearer ", "Basic  good", "Bearer good  more"] {
            assert!(!warned(value), "{value:?}");
        }
    }

    #[tokio::test]
    async fn websockets_carry_the_token_as_a_subprotocol() {
        let upgrade = |protocols: &'static [&'static str]| {
            let mut headers = vec![
                ("connection", "keep-alive, Upgrade"),
                ("upgrade", "websocket"),
            ];
            headers.extend(protocols.iter().map(|p| ("sec-websocket-protocol", *p)));
            headers
        };
        // "good", "bad" and "gOod" with bytes that are no text, in base64url.
        const GOOD: &str = "base64url.bearer.authorization.k8s.io.Z29vZA";
        let alice = Ok(Some("alice".to_owned()));
        for protocols in [
            &["v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.Z29vZA"][..],
            &[GOOD, "v4.channel.k8s.io"],
        ] {
            assert_eq!(outcome(&upgrade(protocols)).await, alice, "{protocols:?}");
        }
        for (protocols, error) in [
            (&[GOOD][..], "missing additional subprotocol"),
            (
                &[GOOD, GOOD, "x"],
                "multiple base64.bearer.authorization tokens specified",
            ),
            (
                &["base64url.bearer.authorization.k8s.io.Z29vZA==", "x"],
                "invalid base64.bearer.authorization token encoding",
            ),
            (
                &["base64url.bearer.authorization.k8s.io._w", "x"],
                "invalid base64.bearer.authorization token",
            ),
            (
                &["base64url.bearer.authorization.k8s.io.YmFk", "x"],
                INVALID_TOKEN,
            ),
        ] {
            let found = outcome(&upgrade(protocols)).await;
            assert_eq!(found, Err(error.to_owned()), "{protocols:?}");
        }
        let empty = upgrade(&["base64url.bearer.authorization.k8s.io."]);
        assert_eq!(outcome(&empty).await, Ok(None));
        let no_websocket = [("sec-websocket-protocol", GOOD)];
        assert_eq!(outcome(&no_websocket).await, Ok(None));
    }

    #[test]
    fn the_token_is_removed_from_the_subprotocols() {
        let mut headers = HeaderMap::new();
        let protocols = "a, base64url.bearer.authorization.k8s.io.Z29vZA,b";
        headers.insert(
            header::SEC_WEBSOCKET_PROTOCOL,
            HeaderValue::from_static(protocols),
        );
        remove_subprotocol_token(&mut headers);
        assert_eq!(headers[header::SEC_WEBSOCKET_PROTOCOL], "a,b");
        headers.insert(
            header::SEC_WEBSOCKET_PROTOCOL,
            HeaderValue::from_static("a, b"),
        );
        remove_subprotocol_token(&mut headers);
        assert_eq!(headers[header::SEC_WEBSOCKET_PROTOCOL], "a, b");
    }
}

//! [`Guard`]: checks that every request must pass first.
//!
//! Pages of other sites can make a browser send requests to this server, and with DNS rebinding they can even appear to be
//! from this host. But they cannot choose the `Host` header, do not know the token, and there are no cookies.

use std::net::IpAddr;

use http::{Method, Request, StatusCode, header, uri::Authority};

use crate::token::Token;

/// Allowed content types of bodies. Forms of other sites cannot send them, and scripts only after a preflight, which is rejected.
const BODIES: [&str; 5] = [
    "application/json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// The checks of one listener.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    address: IpAddr,
    token: Token,
}

/// The reason why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Rejection {
    #[error("this server is not called by that name: use 127.0.0.1 or localhost")]
    ForeignHost,
    #[error("requests from other sites are not served")]
    CrossSite,
    #[error("the method is not allowed")]
    Method,
    #[error("the body must be JSON, with its content type")]
    ContentType,
    #[error("the token is missing or wrong: open the URL that the program printed")]
    Token,
}

impl Rejection {
    pub(crate) fn code(self) -> StatusCode {
        match self {
            Self::ForeignHost => StatusCode::MISDIRECTED_REQUEST,
            Self::CrossSite => StatusCode::FORBIDDEN,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }

    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::ForeignHost => "MisdirectedRequest",
            Self::CrossSite => "Forbidden",
            Self::Method => "MethodNotAllowed",
            Self::ContentType => "UnsupportedMediaType",
            Self::Token => "Unauthorized",
        }
    }
}

impl Guard {
    pub(crate) fn new(address: IpAddr, token: Token) -> Self {
        Self { address, token }
    }

    /// Checks the host and the origin of a request. Pages need no further check, since browsers request them before a script
    /// can send a token.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), Rejection> {
        if !self.is_for_us(request) {
            return Err(Rejection::ForeignHost);
        }
        let site = request.headers().get("sec-fetch-site");
        let is_own = site.is_none_or(|site| matches!(site.as_bytes(), b"same-origin" | b"none"));
        if !is_own && !opens_a_page(request) {
            return Err(Rejection::CrossSite);
        }
        match *request.method() {
            Method::GET | Method::DELETE if !has_body(request) => Ok(()),
            Method::GET | Method::DELETE | Method::POST | Method::PUT | Method::PATCH => {
                match has_json(request) {
                    true => Ok(()),
                    false => Err(Rejection::ContentType),
                }
            }
            _ => Err(Rejection::Method),
        }
    }

    /// Checks the token.
    pub(crate) fn check_token<B>(&self, request: &Request<B>) -> Result<(), Rejection> {
        let mut given = request.headers().get_all(header::AUTHORIZATION).iter();
        match (given.next(), given.next()) {
            (Some(one), None) if self.token.is_carried_by(one.as_bytes()) => Ok(()),
            _ => Err(Rejection::Token),
        }
    }

    /// Reports whether every host name in the request is the listener's address or `localhost`.
    fn is_for_us<B>(&self, request: &Request<B>) -> bool {
        let header = request.headers().get(header::HOST);
        let host = header.map(|host| {
            let text = host.to_str().unwrap_or_default();
            text.parse::<Authority>()
                .is_ok_and(|host| self.is_ours(&host))
        });
        let target = request.uri().authority().map(|target| self.is_ours(target));
        match (host, target) {
            (None, None) => false,
            (host, target) => host.unwrap_or(true) && target.unwrap_or(true),
        }
    }

    fn is_ours(&self, authority: &Authority) -> bool {
        let host = authority.host().trim_matches(['[', ']']);
        let has_user = authority.as_str().contains('@');
        let address = host.parse::<IpAddr>();
        !has_user
            && (host.eq_ignore_ascii_case("localhost")
                || address.is_ok_and(|address| address == self.address))
    }
}

/// Reports whether the request navigates to a page, for example from a file or a chat. All users get the same page; its script
/// then requests data with the token.
fn opens_a_page<B>(request: &Request<B>) -> bool {
    let says = |name: &str, value: &str| {
        let given = request.headers().get(name);
        given.is_some_and(|given| given == value)
    };
    request.method() == Method::GET
        && request.uri().path() == "/"
        && says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document")
}

fn has_body<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    let length = headers.get(header::CONTENT_LENGTH);
    headers.contains_key(header::TRANSFER_ENCODING)
        || headers.contains_key(header::CONTENT_TYPE)
        || length.is_some_and(|length| length.as_bytes() != b"0")
}

fn has_json<B>(request: &Request<B>) -> bool {
    let mut types = request.headers().get_all(header::CONTENT_TYPE).iter();
    let (Some(one), None) = (types.next(), types.next()) else {
        return false;
    };
    let text = one.to_str().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    BODIES.iter().any(|it| it.eq_ignore_ascii_case(essence))
}

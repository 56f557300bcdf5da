//! Authentication and authorization: the two traits and simple implementations.
//!
//! An [`Authenticator`] reads [`Credentials`]: [`ClientCertificates`] those of the connection, [`RequestHeaders`] what a
//! proxy says, [`BearerTokens`] a token, [`Anonymous`] accepts everybody, [`Union`] combines several. Whose token it is, a
//! [`TokenAuthenticator`] knows; [`TokenFile`] has static ones. Groups that follow from the outcome, such as
//! `system:authenticated`, are added to whatever they return.
//!
//! An [`Authorizer`] decides about [`Attributes`]: [`AlwaysAllow`], [`AlwaysDeny`] and [`PrivilegedGroups`] need no rules,
//! [`AuthorizerUnion`] combines several. A server allows members of `system:masters` everything before it asks.
//! [`forbidden`] is the response to a request that is not allowed.
//!
//! A user who may act as somebody else says so in headers, between authentication and authorization: [`Impersonated`].
//!
//! RBAC is not part of this crate; it is another [`Authorizer`].

mod anonymous;
mod attributes;
mod authenticator;
mod authorizer;
mod bearer;
mod client_certificates;
mod creation;
mod csv;
mod decision;
mod forbidden;
mod generations;
mod identity;
pub(crate) mod impersonation;
mod local_user;
mod observer;
mod request_headers;
mod rules;
mod token_file;
mod union;
mod verified;

pub use anonymous::{Anonymous, AnonymousPaths};
pub use attributes::{Attributes, ResourceAttributes, Selection, Target};
pub use authenticator::{Authenticated, AuthenticationError, Authenticator, Credentials};
pub use authorizer::{AlwaysAllow, AlwaysDeny, Authorizer, AuthorizerUnion, PrivilegedGroups};
pub use bearer::{BearerTokens, TokenAuthenticator};
pub(crate) use bearer::{extra_space_warning, remove_subprotocol_token};
pub use client_certificates::{AuthorityError, ClientCertificates, TrustedAuthorities};
pub use creation::authorize_creation;
pub use csv::CsvError;
pub use decision::{Decision, Reason, Verdict};
pub(crate) use forbidden::escape_html;
pub use forbidden::forbidden;
pub use identity::{node_identity, service_account, service_account_groups};
pub use impersonation::Impersonated;
pub use local_user::{LocalUser, LocalUsers};
pub use observer::AccessObserver;
pub(crate) use observer::Observed;
pub use request_headers::{HeaderNames, RequestHeaders};
pub use rules::{NonResourceRule, ResourceRule, Rules};
pub use token_file::{TokenFile, TokenFileError};
pub use union::Union;
pub use verified::{Fingerprint, VerifiedCredentials};

/// The group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of all anonymous users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of anonymous users.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group whose members are allowed everything.
pub const MASTERS: &str = "system:masters";
/// The group of all nodes.
pub const NODES: &str = "system:nodes";

#[cfg(test)]
mod tests;

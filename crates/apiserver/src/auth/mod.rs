//! Authentication and authorization: the two traits and simple implementations.
//!
//! An [`Authenticator`] reads [`Credentials`]: [`TokenFile`] has static bearer tokens, [`Anonymous`] accepts everybody,
//! [`Union`] combines several. Groups that follow from the outcome, such as `system:authenticated`, are added to whatever
//! they return.
//!
//! An [`Authorizer`] decides about [`Attributes`]: [`AlwaysAllow`], [`AlwaysDeny`] and [`PrivilegedGroups`] need no rules,
//! [`AuthorizerUnion`] combines several. A server allows members of `system:masters` everything before it asks.
//! [`forbidden`] is the response to a request that is not allowed.
//!
//! RBAC is not part of this crate; it is another [`Authorizer`].

mod anonymous;
mod attributes;
mod authenticator;
mod authorizer;
mod csv;
mod decision;
mod forbidden;
mod rules;
mod token_file;
mod union;

pub use anonymous::Anonymous;
pub use attributes::{Attributes, ResourceAttributes, Selection, Target};
pub use authenticator::{Authenticated, AuthenticationError, Authenticator, Credentials};
pub use authorizer::{AlwaysAllow, AlwaysDeny, Authorizer, AuthorizerUnion, PrivilegedGroups};
pub use csv::CsvError;
pub use decision::{Decision, Reason, Verdict};
pub(crate) use forbidden::escape_html;
pub use forbidden::forbidden;
pub use rules::{NonResourceRule, ResourceRule, Rules};
pub use token_file::{TokenFile, TokenFileError};
pub use union::Union;

/// The group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of all anonymous users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of anonymous users.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group whose members are allowed everything.
pub const MASTERS: &str = "system:masters";

#[cfg(test)]
mod tests;

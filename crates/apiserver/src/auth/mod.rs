//! Who is asking, and may they: the two traits, and the simplest of each.
//!
//! [`Authenticator`] reads credentials from a request: [`TokenFile`] knows static bearer tokens, [`Anonymous`] takes
//! everybody, [`Union`] asks several. [`Authorizer`] judges [`Attributes`]; [`AlwaysAllow`] is the one that never minds.
//! What is turned down is told with [`forbidden`].
//!
//! Rules for roles and bindings are not here; they are one more [`Authorizer`].

mod anonymous;
mod attributes;
mod csv;
mod token_file;
mod union;

pub use anonymous::Anonymous;
pub use attributes::{Attributes, forbidden};
pub use csv::CsvError;
pub use token_file::{TokenFile, TokenFileError};
pub use union::Union;

use async_trait::async_trait;
use kubewright_machinery::Status;

use crate::request::UserInfo;

/// The group of everybody who gave valid credentials.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody who gave none.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of a user who gave no credentials.
pub const ANONYMOUS: &str = "system:anonymous";

/// Reads credentials.
#[async_trait]
pub trait Authenticator: Send + Sync + 'static {
    /// Who is asking. `None`: the request has no credentials of the kind that this one reads. An error: it has, and
    /// they are worth nothing (401).
    async fn authenticate(
        &self,
        request: &http::request::Parts,
    ) -> Result<Option<UserInfo>, Status>;
}

/// What an authorizer says. The text is for people: it ends up in the 403.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Allow,
    /// No, whatever others say.
    Deny(String),
    /// Nothing speaks for it. Unless another authorizer allows it, that is a no.
    NoOpinion(String),
}

/// Judges requests.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// May this user do that?
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision;
}

/// Allows everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysAllow;

#[async_trait]
impl Authorizer for AlwaysAllow {
    async fn authorize(&self, _: &Attributes<'_>) -> Decision {
        Decision::Allow
    }
}

#[cfg(test)]
mod tests;

//! Static bearer tokens, in the format of kube-apiserver's `--token-auth-file`.
//!
//! Each record is `token,user,uid` and optionally a quoted list of groups: `31ada4fd,alice,1001,"dev,ops"`. The caller reads
//! the file.
//!
//! Tokens are stored and looked up as SHA-256 digests, so that the time of a lookup reveals nothing about them.

use std::{collections::HashMap, sync::Arc};

use kubewright_derive::boxed_async;
use ring::digest::{SHA256, digest};
use thiserror::Error;

use super::{
    Authenticated, AuthenticationError, Authenticator, Credentials, CsvError, TokenAuthenticator,
    bearer::{INVALID_TOKEN, header_token},
    csv,
};
use crate::request::UserInfo;

/// Authenticates users by static bearer tokens.
///
/// ```
/// use kubewright_apiserver::auth::TokenFile;
///
/// assert!(TokenFile::parse("31ada4fd,alice,1001,\"dev,ops\"").is_ok());
/// assert!(TokenFile::parse("31ada4fd,alice").is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct TokenFile {
    users: HashMap<[u8; 32], Arc<UserInfo>>,
}

/// An error in a token file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenFileError {
    /// The file is not CSV.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// A record has too few fields.
    #[error(
        "line {line}: a token record must have at least 3 columns (token, user name, user uid), found {found}"
    )]
    Columns {
        /// The line of the record.
        line: usize,
        /// The number of fields.
        found: usize,
    },
}

impl TokenFile {
    /// Parses the text of a token file. Records with an empty token are skipped; of two records with the same token the later
    /// one wins.
    ///
    /// # Errors
    ///
    /// Fails if the text is not CSV or a record has fewer than three fields.
    pub fn parse(text: &str) -> Result<Self, TokenFileError> {
        let mut file = Self::default();
        for (line, record) in csv::records(text)? {
            let found = record.len();
            let mut fields = record.into_iter();
            let (Some(token), Some(name), Some(uid)) =
                (fields.next(), fields.next(), fields.next())
            else {
                return Err(TokenFileError::Columns { line, found });
            };
            if token.is_empty() {
                tracing::warn!(line, "empty token in the token file");
                continue;
            }
            let groups = fields
                .next()
                .map(|list| list.split(',').map(str::to_owned).collect())
                .unwrap_or_default();
            if file.insert(
                &token,
                UserInfo {
                    name,
                    uid,
                    groups,
                    extra: Vec::new(),
                },
            ) {
                tracing::warn!(line, "duplicate token in the token file");
            }
        }
        Ok(file)
    }

    /// Adds a token. Returns whether another user had it before.
    pub fn insert(&mut self, token: &str, user: UserInfo) -> bool {
        self.users.insert(key(token), Arc::new(user)).is_some()
    }

    /// Returns the user of a token.
    pub fn user(&self, token: &str) -> Option<&Arc<UserInfo>> {
        self.users.get(&key(token))
    }
}

#[boxed_async]
impl Authenticator for TokenFile {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let Some(token) = header_token(&credentials.parts.headers) else {
            return Ok(None);
        };
        let user = std::str::from_utf8(token)
            .ok()
            .and_then(|token| self.user(token));
        match user {
            Some(user) => Ok(Some(user.clone().into())),
            None => Err(AuthenticationError::new(INVALID_TOKEN)),
        }
    }
}

#[boxed_async]
impl TokenAuthenticator for TokenFile {
    async fn authenticate_token(
        &self,
        token: &str,
        _audiences: &[String],
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        Ok(self.user(token).map(|user| user.clone().into()))
    }
}

fn key(token: &str) -> [u8; 32] {
    let mut key = [0; 32];
    key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    key
}

//! [`Tokens`]: the users of a cluster and their bearer tokens.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use http::{HeaderValue, Request, Response, header::AUTHORIZATION};
use kube::client::Body;
use kubewright_apiserver::{
    BoxError,
    auth::{TokenFile, TokenFileError},
    request::UserInfo,
};
use tower::{Service, ServiceExt};

use crate::in_process::InProcess;

/// The user of the built-in controllers.
const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";

/// The group with unrestricted access.
const MASTERS: &str = "system:masters";

/// The maximum size of a token file, in bytes: room for ten thousand users.
const MAX_FILE_BYTES: usize = 1 << 20;

/// The users of a cluster and their bearer tokens.
///
/// ```
/// use kubewright_cluster::Tokens;
///
/// let tokens = Tokens::parse("s3cret,alice,1001,\"dev,ops\"\n").unwrap();
/// assert_eq!(tokens.first(), "s3cret");
/// ```
#[derive(Clone, Debug)]
pub struct Tokens {
    file: TokenFile,
    first: String,
}

/// An invalid token file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    /// The file cannot be read.
    #[error("cannot read the token file: {0}")]
    Read(#[source] io::Error),
    /// The file exceeds the size limit.
    #[error("the file is larger than {MAX_FILE_BYTES} bytes")]
    TooLarge,
    /// The file has an invalid format.
    #[error(transparent)]
    Invalid(#[from] TokenFileError),
    /// The file has no token.
    #[error("the file has no token")]
    Empty,
}

impl Tokens {
    /// Generates a token for one user, `admin`, in the group `system:masters`.
    pub fn generate() -> Self {
        let first = random_token();
        let mut file = TokenFile::default();
        file.insert(&first, user("admin", "admin"));
        Self { file, first }
    }

    /// Reads a file in the format that [`parse`](Self::parse) describes, of at most 1 MiB.
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use kubewright_cluster::{Tokens, TokensError};
    ///
    /// let missing = Tokens::read(Path::new("/does/not/exist"));
    /// assert!(matches!(missing, Err(TokensError::Read(_))));
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is too large, or cannot be parsed.
    pub fn read(path: &Path) -> Result<Self, TokensError> {
        let file = File::open(path).map_err(TokensError::Read)?;
        let mut bytes = Vec::new();
        // Reading one byte more than allowed detects files that are too large, even endless ones.
        let limit = MAX_FILE_BYTES as u64 + 1;
        let read = file.take(limit).read_to_end(&mut bytes);
        read.map_err(TokensError::Read)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(TokensError::TooLarge);
        }
        let text = String::from_utf8(bytes);
        let text = text.map_err(|e| TokensError::Read(io::Error::other(e)))?;
        Self::parse(&text)
    }

    /// Parses the CSV format of kube-apiserver's `--token-auth-file`: `token,user,uid,"group1,group2"`.
    ///
    /// # Errors
    ///
    /// Fails if the text is not CSV, if a record has fewer than three columns, or if there is no token.
    pub fn parse(csv: &str) -> Result<Self, TokensError> {
        let file = TokenFile::parse(csv)?;
        let first = csv
            .lines()
            .map(str::trim)
            .filter_map(|line| line.split(',').next())
            .map(|token| token.trim_matches('"'))
            .find(|token| file.user(token).is_some())
            .ok_or(TokensError::Empty)?
            .to_owned();
        Ok(Self { file, first })
    }

    /// Returns the first token, which the kubeconfig and [`Cluster::client`](crate::Cluster::client) use.
    pub fn first(&self) -> &str {
        &self.first
    }

    /// Adds a token for the built-in controllers.
    pub(crate) fn add_controller_manager(&mut self) -> String {
        let token = random_token();
        self.file.insert(&token, user(CONTROLLER_MANAGER, ""));
        token
    }

    pub(crate) fn into_file(self) -> TokenFile {
        self.file
    }
}

/// Creates a client that calls the server without a socket, with the token if there is one.
pub(crate) fn client<S>(server: S, token: Option<&str>) -> kube::Client
where
    S: Service<Request<Body>, Response = Response<kubewright_apiserver::Body>>
        + Clone
        + Send
        + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    let bearer = token.and_then(|token| {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        bearer.set_sensitive(true);
        Some(bearer)
    });
    match bearer {
        None => kube::Client::new(InProcess::new(server), "default"),
        Some(bearer) => {
            let service = server.map_request(move |mut request: Request<Body>| {
                let headers = request.headers_mut();
                headers.insert(AUTHORIZATION, bearer.clone());
                request
            });
            kube::Client::new(InProcess::new(service), "default")
        }
    }
}

fn user(name: &str, uid: &str) -> UserInfo {
    UserInfo {
        name: name.to_owned(),
        uid: uid.to_owned(),
        groups: vec![MASTERS.to_owned()],
        extra: Vec::new(),
    }
}

fn random_token() -> String {
    format!("{:032x}", rand::random::<u128>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_token_is_that_of_the_first_record() {
        let tokens = Tokens::parse("\n\"a\",alice,1\nb,bob,2\n").unwrap();
        assert_eq!(tokens.first(), "a");
    }

    #[test]
    fn a_file_without_a_token_is_an_error() {
        for text in ["", "\n", ",alice,1\n", "\"\",alice,1\n"] {
            let empty = Tokens::parse(text).unwrap_err();
            assert!(matches!(empty, TokensError::Empty), "{text:?}");
        }
        let short = Tokens::parse("a,alice\n").unwrap_err();
        assert!(matches!(short, TokensError::Invalid(_)));
    }

    #[cfg(unix)]
    #[test]
    fn endless_files_are_rejected() {
        let endless = Tokens::read(Path::new("/dev/zero")).unwrap_err();
        assert!(matches!(endless, TokensError::TooLarge), "{endless}");
        let empty = Tokens::read(Path::new("/dev/null")).unwrap_err();
        assert!(matches!(empty, TokensError::Empty), "{empty}");
    }

    #[test]
    fn generated_tokens_differ() {
        assert_ne!(Tokens::generate().first(), Tokens::generate().first());
    }
}

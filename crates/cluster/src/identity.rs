//! [`Tokens`]: the users of a cluster, identified by bearer tokens.

use http::{HeaderValue, header::AUTHORIZATION};
use kube::client::Body;
use kubewright_apiserver::{
    ApiServer,
    auth::{TokenFile, TokenFileError},
    request::UserInfo,
};
use tower::ServiceExt;

/// The user that the built-in controllers run as.
const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";

/// The group that is allowed everything.
const MASTERS: &str = "system:masters";

/// The users of a cluster, identified by bearer tokens.
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

/// A token file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokensError {
    /// The text is not a token file.
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

    /// Parses the CSV format of kube-apiserver's `--token-auth-file`: `token,user,uid,"group1,group2"`.
    ///
    /// # Errors
    ///
    /// Fails if the text is not CSV, a record has fewer than three columns, or there is no token at all.
    pub fn parse(csv: &str) -> Result<Self, TokensError> {
        let file = TokenFile::parse(csv)?;
        let first = csv
            .lines()
            .map(str::trim)
            .filter_map(|line| line.split(',').next())
            .map(|token| token.trim_matches('"'))
            .find(|token| !token.is_empty())
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
pub(crate) fn client(server: ApiServer, token: Option<&str>) -> kube::Client {
    let bearer = token.and_then(|token| {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        bearer.set_sensitive(true);
        Some(bearer)
    });
    match bearer {
        None => kube::Client::new(server, "default"),
        Some(bearer) => {
            let service = server.map_request(move |mut request: http::Request<Body>| {
                let headers = request.headers_mut();
                headers.insert(AUTHORIZATION, bearer.clone());
                request
            });
            kube::Client::new(service, "default")
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
        assert_eq!(Tokens::parse("\n").unwrap_err(), TokensError::Empty);
        let short = Tokens::parse("a,alice\n").unwrap_err();
        assert!(matches!(short, TokensError::Invalid(_)));
    }

    #[test]
    fn generated_tokens_differ() {
        assert_ne!(Tokens::generate().first(), Tokens::generate().first());
    }
}

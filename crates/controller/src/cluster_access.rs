//! [`ClusterAccess`]: authentication and authorization of requests by the cluster.

use std::{collections::HashMap, sync::Arc, time::Duration};

use http::{HeaderMap, Method, StatusCode, header};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use parking_lot::Mutex;
use ring::digest::{Context, SHA256};
use tokio::time::Instant;

/// The time that a permission is cached.
const ALLOWED: Duration = Duration::from_secs(60);

/// The time that a rejection is cached.
const REJECTED: Duration = Duration::from_secs(10);

/// The maximum number of cached decisions.
const MOST: usize = 256;

/// Lets the cluster authenticate and authorize requests to endpoints of this program, such as its metrics.
///
/// A request needs a bearer token. The API server names its user in a TokenReview, and decides in a SubjectAccessReview
/// whether the user may use the method on the path; roles grant that by `nonResourceURLs`. The account of the program needs
/// the permission to create both reviews. Permissions are cached for a minute, rejections for ten seconds.
///
/// ```no_run
/// # async fn run(client: kube::Client, manager: kubewright_controller::Manager) -> Result<(), Box<dyn std::error::Error>> {
/// use kubewright_controller::ClusterAccess;
///
/// let routes = manager.routes().require_access(ClusterAccess::new(client));
/// manager.serve(tokio::net::TcpListener::bind("127.0.0.1:8443").await?, routes)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ClusterAccess(Arc<Shared>);

struct Shared {
    client: Client,
    /// Decisions by the digest of token, method and path.
    decisions: Mutex<HashMap<Key, Decision>>,
}

type Key = [u8; 32];

struct Decision {
    result: Result<(), Rejection>,
    until: Instant,
}

/// The response to a request that is not allowed.
#[derive(Clone)]
pub(crate) struct Rejection {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl ClusterAccess {
    /// Creates the reviews with this client.
    pub fn new(client: Client) -> Self {
        Self(Arc::new(Shared {
            client,
            decisions: Mutex::default(),
        }))
    }

    /// Checks a request.
    pub(crate) async fn check(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), Rejection> {
        let Some(token) = bearer_token(headers) else {
            return Err(unauthorized());
        };
        let key = key(token, method, path);
        if let Some(result) = self.0.cached(&key) {
            return result;
        }
        let result = self.0.review(token, method, path).await;
        self.0.remember(key, &result);
        result
    }
}

impl Shared {
    fn cached(&self, key: &Key) -> Option<Result<(), Rejection>> {
        let decisions = self.decisions.lock();
        let decision = decisions.get(key)?;
        (Instant::now() < decision.until).then(|| decision.result.clone())
    }

    /// Caches a decision. Failed reviews are not cached.
    fn remember(&self, key: Key, result: &Result<(), Rejection>) {
        let lifetime = match result {
            Ok(()) => ALLOWED,
            Err(rejection) if rejection.status.is_server_error() => return,
            Err(_) => REJECTED,
        };
        let now = Instant::now();
        let mut decisions = self.decisions.lock();
        if decisions.len() >= MOST {
            decisions.retain(|_, decision| now < decision.until);
        }
        if decisions.len() >= MOST {
            decisions.clear();
        }
        let decision = Decision {
            result: result.clone(),
            until: now + lifetime,
        };
        decisions.insert(key, decision);
    }

    async fn review(&self, token: &str, method: &Method, path: &str) -> Result<(), Rejection> {
        let user = self.authenticate(token).await?;
        let name = user.username.clone().unwrap_or_default();
        let verb = method.as_str().to_ascii_lowercase();
        match self.authorize(user, verb, path).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Rejection {
                status: StatusCode::FORBIDDEN,
                message: format!("Authorization denied for user {name}"),
            }),
            Err(error) => {
                let message = format!("Authorization for user {name} failed");
                tracing::error!(%error, "{message}");
                Err(Rejection {
                    status: StatusCode::INTERNAL_SERVER_ERROR,
                    message,
                })
            }
        }
    }

    async fn authenticate(&self, token: &str) -> Result<UserInfo, Rejection> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let reviewed = reviews.create(&PostParams::default(), &review).await;
        let reviewed = reviewed.map_err(|error| {
            let message = "Authentication failed";
            tracing::error!(%error, "{message}");
            Rejection {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                message: message.to_owned(),
            }
        })?;
        let status = reviewed.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        user.ok_or_else(unauthorized)
    }

    async fn authorize(
        &self,
        user: UserInfo,
        verb: String,
        path: &str,
    ) -> Result<bool, kube::Error> {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some(verb),
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let reviewed = reviews.create(&PostParams::default(), &review).await?;
        Ok(reviewed.status.is_some_and(|status| status.allowed))
    }
}

fn unauthorized() -> Rejection {
    Rejection {
        status: StatusCode::UNAUTHORIZED,
        message: "Unauthorized".to_owned(),
    }
}

/// Returns the bearer token of a request, if it is not empty.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn key(token: &str, method: &Method, path: &str) -> Key {
    let mut context = Context::new(&SHA256);
    // Neither a header nor a method nor a path contains a zero byte.
    for part in [token, method.as_str(), path] {
        context.update(part.as_bytes());
        context.update(&[0]);
    }
    let mut key = Key::default();
    key.copy_from_slice(context.finish().as_ref());
    key
}

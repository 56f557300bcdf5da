//! [`TokenReviews`]: authentication of bearer tokens by the API server of the cluster.

use std::time::Duration;

use kube::Client;
use kubewright_apiserver::{
    auth::{Authenticated, AuthenticationError, TokenAuthenticator},
    boxed_async,
    request::UserInfo,
};
use kubewright_machinery::json::Read;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::{cache::Cache, calls};

const PATH: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

type Answer = Result<Option<Authenticated>, AuthenticationError>;

/// Authenticates bearer tokens by TokenReviews.
pub(super) struct TokenReviews {
    client: Client,
    /// Results by the digest of the token and the audiences.
    answers: Cache<Vec<u8>, Answer>,
}

impl TokenReviews {
    /// Returns reviews whose results are used for some time.
    pub(super) fn new(client: Client, lifetime: Duration) -> Self {
        Self {
            client,
            answers: Cache::new(lifetime),
        }
    }
}

#[boxed_async]
impl TokenAuthenticator for TokenReviews {
    async fn authenticate_token(&self, token: &str, audiences: &[String]) -> Answer {
        let mut key = digest(&SHA256, token.as_bytes()).as_ref().to_vec();
        for audience in audiences {
            key.extend_from_slice(audience.as_bytes());
            key.push(0);
        }
        if let Some(answer) = self.answers.get(&key) {
            return answer;
        }
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": audiences},
        });
        let reviewed = calls::create(&self.client, PATH, &review).await;
        // Failed reviews are not cached.
        let reviewed = reviewed
            .map_err(|e| AuthenticationError::new(format!("the token cannot be reviewed: {e}")))?;
        let answer = answer(&reviewed["status"]);
        self.answers.insert(key, answer.clone());
        answer
    }
}

fn answer(status: &Value) -> Answer {
    if !status["authenticated"].flag() {
        return match status["error"].text() {
            "" => Ok(None),
            error => Err(AuthenticationError::new(error)),
        };
    }
    let user = &status["user"];
    let texts = |list: &Value| list.texts().map(str::to_owned).collect::<Vec<String>>();
    let extra = user["extra"].as_object().into_iter().flatten();
    let known = UserInfo {
        name: user["username"].text().to_owned(),
        uid: user["uid"].text().to_owned(),
        groups: texts(&user["groups"]),
        extra: extra
            .map(|(key, list)| (key.clone(), texts(list)))
            .collect(),
    };
    let audiences = texts(&status["audiences"]);
    Ok(Some(Authenticated {
        audiences: (!audiences.is_empty()).then_some(audiences),
        ..known.into()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviews_yield_users_errors_or_nothing() {
        let known = answer(&json!({
            "authenticated": true,
            "user": {"username": "alice", "groups": ["a"], "extra": {"k": ["v"]}},
        }));
        let user = known.unwrap().unwrap().user;
        assert_eq!((user.name.as_str(), user.groups.len()), ("alice", 1));
        assert_eq!(answer(&json!({})), Ok(None));
        assert!(answer(&json!({"error": "expired"})).is_err());
        // Nobody is authenticated by garbage.
        assert_eq!(answer(&json!({"authenticated": "yes"})), Ok(None));
    }
}

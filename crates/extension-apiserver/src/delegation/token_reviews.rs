//! [`TokenReviews`]: bearer tokens that the API server of the cluster knows.

use std::time::Duration;

use async_trait::async_trait;
use kube::Client;
use kubewright_apiserver::{
    auth::{Authenticated, AuthenticationError, TokenAuthenticator},
    request::UserInfo,
};
use kubewright_machinery::json::Read;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::{cache::Cache, calls};

const PATH: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
/// The time for which an answer counts.
const LIFETIME: Duration = Duration::from_secs(10);

type Answer = Result<Option<Authenticated>, AuthenticationError>;

/// Authenticates bearer tokens by TokenReviews.
pub(super) struct TokenReviews {
    client: Client,
    /// Answers by the digest of the token and the audiences.
    answers: Cache<Vec<u8>, Answer>,
}

impl TokenReviews {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            answers: Cache::new(LIFETIME),
        }
    }
}

#[async_trait]
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
        // A failure is not an answer, and is not kept.
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
    fn answers_are_users_errors_or_nothing() {
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

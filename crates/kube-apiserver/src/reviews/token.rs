//! `TokenReview`: names the user of a token.

use std::sync::Arc;

use http::{HeaderValue, Request, header};
use kubewright_apiserver::{
    auth::{Authenticated, AuthenticationError, Authenticator, Credentials},
    request::RequestContext,
};
use kubewright_machinery::{Status, json::Read, status};
use serde_json::{Value, json};

use super::{Review, user_json};

/// `TokenReview`
pub(super) struct Token {
    pub(super) authenticator: Arc<dyn Authenticator>,
    /// The audiences of the server.
    pub(super) audiences: Vec<String>,
}

impl Review for Token {
    fn check(&self, review: &Value) -> Result<(), Status> {
        match review["spec"]["token"].text() {
            "" => Err(status::bad_request(
                "token is required for TokenReview in authentication",
            )),
            _ => Ok(()),
        }
    }

    async fn answer(&self, _cx: &RequestContext, review: &mut Value) -> Result<(), Status> {
        let spec = &review["spec"];
        let token = spec["token"].text();
        let audiences = match &spec["audiences"] {
            audiences if audiences.is_blank() => self.audiences.clone(),
            audiences => audiences.texts().map(str::to_owned).collect(),
        };
        review["status"] = match self.known(token, &audiences).await? {
            Ok(known) => {
                let mut status = json!({"authenticated": true, "user": user_json(&known.user)});
                let audiences = known.audiences.unwrap_or_default();
                if !audiences.is_empty() {
                    status["audiences"] = json!(audiences);
                }
                status
            }
            Err(error) => json!({"user": {}, "error": error.to_string()}),
        };
        Ok(())
    }
}

impl Token {
    /// Returns the user of a token, with the audiences that the token and the review share.
    async fn known(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Result<Authenticated, AuthenticationError>, Status> {
        let invalid = || AuthenticationError::new("invalid bearer token");
        let Ok(header) = HeaderValue::try_from(format!("Bearer {token}")) else {
            return Ok(Err(invalid()));
        };
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.headers.insert(header::AUTHORIZATION, header);
        let credentials = Credentials::new(&parts, audiences);
        let mut known = match credentials.authenticate(&*self.authenticator).await {
            Ok(Some(known)) => known,
            Ok(None) => return Ok(Err(invalid())),
            Err(error) => return Ok(Err(error)),
        };
        let shared = |own: &[String]| -> Vec<String> {
            let shared = own.iter().filter(|audience| audiences.contains(audience));
            shared.cloned().collect()
        };
        match &known.audiences {
            Some(own) if !audiences.is_empty() && shared(own).is_empty() => {
                Err(status::internal("error validating audiences"))
            }
            Some(_) => Ok(Ok(known)),
            // Credentials that name no audience are meant for the server.
            None => match shared(&self.audiences) {
                own if own.is_empty() && !audiences.is_empty() => Ok(Err(invalid())),
                own => {
                    known.audiences = Some(own);
                    Ok(Ok(known))
                }
            },
        }
    }
}

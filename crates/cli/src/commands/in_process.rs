//! A client of the server in this process, without a socket, known by a token that nobody else has.

use http::{HeaderValue, header::AUTHORIZATION};
use kubewright_apiserver::{auth::TokenFile, request::UserInfo, server::ApiServer};
use tower::ServiceExt;

/// Who the built-in controllers are.
const USER: &str = "system:kube-controller-manager";

/// Adds a token for the built-in controllers.
pub(crate) fn token(tokens: &mut TokenFile) -> String {
    let token = format!("{:032x}", rand::random::<u128>());
    let user = UserInfo {
        name: USER.to_owned(),
        uid: String::new(),
        groups: vec!["system:masters".to_owned()],
        extra: Vec::new(),
    };
    tokens.insert(&token, user);
    token
}

/// A client that shows the token.
pub(crate) fn client(server: ApiServer, token: &str) -> anyhow::Result<kube::Client> {
    let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))?;
    bearer.set_sensitive(true);
    let service = server.map_request(move |mut request: http::Request<kube::client::Body>| {
        request.headers_mut().insert(AUTHORIZATION, bearer.clone());
        request
    });
    Ok(kube::Client::new(service, "default"))
}

//! Authentication and authorization of a request.

use std::sync::Arc;

use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Request, Response, Version, header};
use kubewright_machinery::{Status, go, status};
use kubewright_serve::ConnectionHandle;

use super::{ApiServer, dispatch, in_flight::Facts, service::Incoming};
use crate::{
    auth::{
        self, ANONYMOUS, Attributes, Authenticated, Credentials, Decision, UNAUTHENTICATED,
        impersonation,
    },
    body::Body,
    flow::Overloaded,
    ledger::{self, note},
    request::{Annotations, RequestInfo, UserInfo, Verb, query::Query},
    respond::{Accepted, encode::response, status_answer},
};

/// The annotations of an audit event with the decision of the authorizer.
const DECISION: &str = "authorization.k8s.io/decision";
const REASON: &str = "authorization.k8s.io/reason";

/// Handles a request if its user is known and may make it.
pub(super) async fn run(
    server: &ApiServer,
    incoming: Incoming,
    facts: &Facts,
) -> Result<Response<Body>, Status> {
    let Incoming {
        request,
        info,
        query,
        warnings,
        annotations,
    } = incoming;
    let (parts, body) = request.into_parts();
    let known = authenticate(server, &Credentials::new(&parts, server.audiences())).await;
    if let Some(record) = annotations.record() {
        let user = known.as_ref().ok().map(|known| &known.user);
        record.begin(user, &parts, &info, &query);
    }
    if let Ok(known) = &known {
        note::user(&known.user);
    }
    let is_nobody = match &known {
        Ok(known) => is_anonymous(&known.user),
        Err(_) => true,
    };
    if is_nobody {
        warnings.extend(auth::extra_space_warning(&parts.headers).map(str::to_owned));
    }
    // HTTP/2 is costly for the server; whoever has no credentials gets one request for each connection.
    let closing = (is_nobody && parts.version == Version::HTTP_2).then(|| {
        (
            Accepted::for_status(&parts.headers, &query),
            annotations.clone(),
        )
    });
    let incoming = Incoming {
        request: Request::from_parts(parts, body),
        info,
        query,
        warnings,
        annotations,
    };
    let handled = match known {
        Ok(known) => authorized(server, incoming, known, facts).await,
        Err(error) => Err(error),
    };
    let Some((accepted, annotations)) = closing else {
        return handled;
    };
    let mut response =
        handled.unwrap_or_else(|error| status_answer(&annotations, &accepted, &error));
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    Ok(response)
}

/// Handles an authenticated request that does not ask for impersonation.
pub(super) async fn run_as(
    server: &ApiServer,
    incoming: Incoming,
    user: Arc<UserInfo>,
    facts: &Facts,
) -> Result<Response<Body>, Status> {
    note::user(&user);
    let incoming = match incoming.annotations.record().cloned() {
        Some(record) => {
            let (parts, body) = incoming.request.into_parts();
            record.begin(Some(&user), &parts, &incoming.info, &incoming.query);
            Incoming {
                request: Request::from_parts(parts, body),
                ..incoming
            }
        }
        None => incoming,
    };
    match impersonation::is_requested(incoming.request.headers()) {
        true => authorized(server, incoming, user.into(), facts).await,
        false => {
            let mut incoming = incoming;
            remove_credentials(server, incoming.request.headers_mut());
            dispatch::run(server, incoming, user).await
        }
    }
}

/// Handles a request of a known user if the user may make it, or may make it as the user that it names.
async fn authorized(
    server: &ApiServer,
    incoming: Incoming,
    known: Authenticated,
    facts: &Facts,
) -> Result<Response<Body>, Status> {
    let Incoming {
        request,
        info,
        query,
        warnings,
        annotations,
    } = incoming;
    let (mut parts, body) = request.into_parts();
    warnings.extend(known.warnings);
    for (key, value) in known.annotations {
        annotations.add(&key, || value);
    }
    let user = known.user;
    if let Some(connection) = parts.extensions.get::<ConnectionHandle>()
        && !is_anonymous(&user)
    {
        connection.mark_authenticated();
    }
    let attributes = Attributes::of_request(&user, &info, &query);
    let impersonation = &server.shared.impersonation;
    let impersonated = impersonation
        .take(&**server.authorizer(), &mut parts, &user, &attributes)
        .await;
    let user = match impersonated {
        Ok(Some(impersonated)) => {
            note::user(&impersonated.user);
            if let Some(record) = annotations.record() {
                record.impersonates(&impersonated.user, impersonated.constraint);
            }
            impersonated.user
        }
        Ok(None) => user,
        Err(error) => return Ok(refused(&annotations, &parts.headers, &query, &error)),
    };
    let attributes = Attributes::of_request(&user, &info, &query);
    let overloaded = classify(server, &attributes, &info, &parts.extensions, facts).await;
    if let Some(overloaded) = overloaded.or_else(|| admit(server, &user, &info, facts)) {
        return Ok(overloaded.answer());
    }
    let body = match facts.seat.get() {
        Some(seat) => body.counted(seat.clone()),
        None => body,
    };
    // Operators report their runs whatever roles they have.
    let reports = server.shared.ledger.is_some() && ledger::is_report(&info);
    let decision = match reports && !is_anonymous(&user) {
        true => Decision::allow(),
        false => server.authorizer().authorize(&attributes).await,
    };
    annotate(&annotations, &decision);
    if !reports {
        server.authorizer().decided(&attributes, &decision);
    }
    if !decision.is_allow() {
        return Ok(match &decision.error {
            Some(error) => internal_error(&parts.uri, error),
            None => {
                let error = auth::forbidden(&attributes, &decision.reason);
                refused(&annotations, &parts.headers, &query, &error)
            }
        });
    }
    remove_credentials(server, &mut parts.headers);
    let incoming = Incoming {
        request: Request::from_parts(parts, body),
        info,
        query,
        warnings,
        annotations,
    };
    dispatch::run(server, incoming, user).await
}

/// Finds the flow of a request. Streams other than watches have none. Returns whether the request must be rejected.
async fn classify(
    server: &ApiServer,
    attributes: &Attributes<'_>,
    info: &RequestInfo,
    extensions: &Extensions,
    facts: &Facts,
) -> Option<Overloaded> {
    if info.is_long_running() && info.verb != Verb::Watch {
        return None;
    }
    if let Some(control) = &server.shared.flow_control
        && let Some(found) = control.flow(attributes).await
    {
        // Set once for each request.
        let _ = facts.flow.set(found);
    }
    extensions.get().copied()
}

/// Counts a request as in flight, unless it may last. Returns whether it must be rejected.
fn admit(
    server: &ApiServer,
    user: &UserInfo,
    info: &RequestInfo,
    facts: &Facts,
) -> Option<Overloaded> {
    facts.deadline.get()?;
    match server.shared.in_flight.admit(user, info) {
        Ok(seat) => {
            if let Some(seat) = seat {
                // Set once for each request.
                let _ = facts.seat.set(seat);
            }
            None
        }
        Err(overloaded) => Some(overloaded),
    }
}

async fn authenticate(
    server: &ApiServer,
    credentials: &Credentials<'_>,
) -> Result<Authenticated, Status> {
    let authenticator = &*server.shared.authenticator;
    match credentials.authenticate(authenticator).await {
        Ok(Some(known)) if known.is_for(credentials.audiences) => Ok(known),
        Ok(Some(_)) => {
            tracing::debug!("a token for other audiences was rejected");
            Err(status::unauthorized())
        }
        Ok(None) => Err(status::unauthorized()),
        Err(error) => {
            tracing::debug!(%error, "a request could not be authenticated");
            Err(status::unauthorized())
        }
    }
}

/// Returns whether a user is anonymous.
fn is_anonymous(user: &UserInfo) -> bool {
    user.name == ANONYMOUS || user.groups.iter().any(|group| group == UNAUTHENTICATED)
}

/// Removes the headers that identify the user, so that nothing behind can pass them on.
fn remove_credentials(server: &ApiServer, headers: &mut HeaderMap) {
    server.shared.authenticator.remove_identity(headers);
    headers.remove(header::AUTHORIZATION);
    auth::remove_subprotocol_token(headers);
    let is_remote = |name: &HeaderName| {
        let name = name.as_str();
        matches!(name, "x-remote-user" | "x-remote-uid" | "x-remote-group")
            || name.starts_with("x-remote-extra-")
    };
    if headers.keys().any(is_remote) {
        let names: Vec<HeaderName> = headers.keys().filter(|n| is_remote(n)).cloned().collect();
        for name in names {
            headers.remove(name);
        }
    }
}

fn annotate(annotations: &Annotations, decision: &Decision) {
    if !decision.is_allow() && decision.error.is_some() {
        return annotations.add(REASON, || "internal error".to_owned());
    }
    annotations.add(DECISION, || {
        let text = if decision.is_allow() {
            "allow"
        } else {
            "forbid"
        };
        text.to_owned()
    });
    annotations.add(REASON, || decision.reason.to_string());
}

/// Returns the answer to a request that is not allowed.
fn refused(
    annotations: &Annotations,
    headers: &HeaderMap,
    query: &Query,
    error: &Status,
) -> Response<Body> {
    let accepted = Accepted::for_status(headers, query);
    without_sniffing(status_answer(annotations, &accepted, error))
}

/// Returns the answer to a request that an authorizer could not decide about.
fn internal_error(uri: &http::Uri, error: &str) -> Response<Body> {
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    tracing::error!(%error, "a request could not be authorized");
    let text = format!("Internal Server Error: {}: {error}", go::quote(target));
    let text = format!("{}\n", auth::escape_html(&text));
    without_sniffing(response(500, "text/plain; charset=utf-8", text))
}

/// Adds the header that keeps browsers from guessing the content type.
fn without_sniffing(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

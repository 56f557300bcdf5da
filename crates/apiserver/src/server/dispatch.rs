//! Routes a request to discovery, health, metrics, or a verb of a resource.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use kubewright_machinery::{Status, go, status};

use super::{ApiServer, Serving, service::Incoming};
use crate::{
    aggregation::{self, Backend, Forwarded},
    body::Body,
    discovery::{Aggregated, Format, Legacy, aggregated_format},
    endpoints::{self, Document, Probe},
    ledger,
    registry::Registry,
    request::{RequestContext, RequestInfo, UserInfo, Verb, query::Query},
    respond::{
        Accepted, Media,
        encode::{bytes_response, response},
        negotiate::{self, Offer},
        status_answer,
    },
    verbs::{self, Call, Target},
};

const TEXT: &str = "text/plain; charset=utf-8";

pub(super) async fn run(
    server: &ApiServer,
    incoming: Incoming,
    user: Arc<UserInfo>,
) -> Result<Response<Body>, Status> {
    let serving = server.shared.serving.load_full();
    if incoming.info.path.starts_with("//") {
        return Ok(page_not_found());
    }
    if let Some(recorder) = &server.shared.ledger
        && ledger::is_endpoint(&incoming.info.path)
    {
        return ledger::answer(recorder, &serving.registry, incoming).await;
    }
    if let Some(backend) = backend(server, &incoming.info.path).await {
        if aggregation::is_traversal(incoming.request.uri().path()) {
            return Ok(page_not_found());
        }
        let mut response = backend.forward(&user, incoming.request).await;
        response.extensions_mut().insert(Forwarded);
        return Ok(response);
    }
    if !incoming.info.is_resource {
        if let Some((probe, check)) = Probe::of_path(&incoming.info.path) {
            return Ok(health(server, probe, check, &incoming.query.clone()).await);
        }
        return Ok(non_resource(server, &serving, &incoming));
    }
    let Incoming {
        request,
        info,
        query,
        warnings,
        annotations,
    } = incoming;
    let registry = &serving.registry;
    if !registry.has_group(&info.group) {
        return Ok(page_not_found());
    }
    let resource = registry.resource(&info.group, &info.version, &info.resource);
    // Paths that begin with `proxy` are only understood: nothing is served there any more.
    let Some(resource) = resource.filter(|_| info.verb != Verb::Proxy) else {
        if registry.is_custom_group(&info.group) {
            return Ok(page_not_found());
        }
        return Err(status::resource_not_found());
    };
    let target = match Target::find(resource, &info) {
        Some(target) => target,
        None if resource.custom.is_none() => return Err(status::resource_not_found()),
        None if info.subresource.is_empty() => return Ok(page_not_found()),
        None => {
            if let Some(text) = &resource.spec.deprecation {
                warnings.add(text.clone());
            }
            return Err(status::not_found(
                &resource.spec.group_resource(),
                &info.name,
            ));
        }
    };
    if matches!(info.namespace.as_str(), "." | "..") {
        return Err(invalid_namespace(&info));
    }
    let user_agent = request
        .headers()
        .get(header::USER_AGENT)
        .map(|v| String::from_utf8_lossy(v.as_bytes()));
    let cx = RequestContext {
        user_agent: user_agent.unwrap_or_default().into(),
        info,
        query,
        user,
        warnings,
        resource: resource.clone(),
        admission: server.shared.admission.clone(),
        authorizer: server.shared.authorizer.clone(),
        annotations,
        deadline: None,
    };
    if let Some(text) = &resource.spec.deprecation {
        cx.warnings.add(text.clone());
        cx.annotations
            .add("k8s.io/deprecated", || "true".to_owned());
    }
    verbs::run(Call {
        cx,
        target,
        request,
    })
    .await
}

/// Returns the server that has the group version of a path, if it is another one.
async fn backend(server: &ApiServer, path: &str) -> Option<Arc<dyn Backend>> {
    let aggregator = server.shared.aggregator.as_ref()?;
    let (group, version) = aggregation::group_version(path)?;
    aggregator.backend(group, version).await
}

/// Returns the error for a namespace that would lead to another place in a store that has paths.
fn invalid_namespace(info: &RequestInfo) -> Status {
    let (namespace, resource) = (&info.namespace, &info.resource);
    if info.verb == Verb::Create {
        let text = format!("invalid resource name \"{namespace}\": [may not be '{namespace}']");
        return status::internal(text);
    }
    let mut key = format!("/{resource}/{namespace}");
    if !info.name.is_empty() {
        key = format!("{key}/{}", info.name);
    }
    status::unknown(format!("invalid key: {}", go::quote(&key)))
}

fn page_not_found() -> Response<Body> {
    let mut response = response(404, TEXT, "404 page not found\n");
    response.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// Answers a probe, or one of its checks.
async fn health(
    server: &ApiServer,
    probe: Probe,
    check: Option<&str>,
    query: &Query,
) -> Response<Body> {
    let health = &server.shared.health;
    match check {
        None => health.answer(probe, query).await,
        Some(name) => health
            .answer_one(probe, name)
            .await
            .unwrap_or_else(page_not_found),
    }
}

fn non_resource(server: &ApiServer, serving: &Serving, incoming: &Incoming) -> Response<Body> {
    let shared = &server.shared;
    let (path, headers) = (incoming.info.path.as_str(), incoming.request.headers());
    let now = jiff::Timestamp::now();
    if path == "/openapi/v3" {
        return serving.openapi.answer_index(&serving.infos);
    }
    if path == "/openapi/v2" {
        let (infos, merged) = (&serving.infos, &serving.merged);
        return serving.openapi.answer_v2(infos, merged, headers);
    }
    if let Some(answer) = serving.openapi.answer(path, headers, &incoming.query, now) {
        return answer;
    }
    if let Some(document) = shared.documents.iter().find(|d| d.path == path) {
        return fixed(document, incoming);
    }
    if *incoming.request.method() != Method::GET && reads_only(&serving.registry, path) {
        let document = discovery(shared, serving, incoming);
        return match document {
            Some(missing) if missing.status() == StatusCode::NOT_FOUND => missing,
            None if !path.starts_with("/version") => page_not_found(),
            _ => failure(incoming, &verbs::not_allowed()),
        };
    }
    match path {
        "/" => {
            let others = [
                "/version",
                "/metrics",
                "/openapi/v2",
                "/openapi/v3",
                "/openapi/v3/",
            ];
            let documents = shared.documents.iter().map(|d| d.path.as_str());
            let paths = endpoints::root::document(
                &serving.registry,
                &shared.health,
                others.into_iter().chain(documents),
            );
            response(200, Media::Json.name(), paths)
        }
        "/version" | "/version/" => match negotiate::check_route(headers, &[Media::Json], false) {
            Ok(()) => response(200, Media::Json.name(), shared.version.document()),
            Err(error) => failure(incoming, &error),
        },
        _ if path.starts_with("/version/") => failure(incoming, &status::resource_not_found()),
        "/metrics" => response(
            200,
            endpoints::metrics::CONTENT_TYPE,
            shared.metrics.render(),
        ),
        _ => discovery(shared, serving, incoming).unwrap_or_else(page_not_found),
    }
}

/// Answers with a document of fixed content.
fn fixed(document: &Document, incoming: &Incoming) -> Response<Body> {
    if *incoming.request.method() != Method::GET {
        return failure(incoming, &verbs::not_allowed());
    }
    let media = document.content_type;
    if let Err(error) = negotiate::check_document(incoming.request.headers(), media) {
        return failure(incoming, &error);
    }
    let mut answer = response(200, media, document.content.clone());
    let caching = document.cache_control.as_deref();
    if let Some(caching) = caching.and_then(|text| HeaderValue::from_str(text).ok()) {
        answer.headers_mut().insert(header::CACHE_CONTROL, caching);
    }
    answer
}

/// Returns a failure in the encoding that the client requested.
fn failure(incoming: &Incoming, error: &Status) -> Response<Body> {
    let accepted = Accepted::for_status(incoming.request.headers(), &incoming.query);
    status_answer(&incoming.annotations, &accepted, error)
}

/// Returns whether a path accepts only GET. Other paths accept any method: `/`, `/metrics`, the lists of groups and of a group's
/// versions, and everything about the groups of custom resources.
fn reads_only(registry: &Registry, path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next() {
        Some("version") => parts.next().is_none(),
        Some("api") => true,
        Some("apis") => parts
            .next()
            .is_some_and(|group| parts.next().is_some() && !registry.is_custom_group(group)),
        _ => false,
    }
}

/// Returns a discovery document, or `None` if the path names none.
fn discovery(
    shared: &super::Shared,
    serving: &Serving,
    incoming: &Incoming,
) -> Option<Response<Body>> {
    let headers = incoming.request.headers();
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    let discovery = &serving.discovery;
    let parts: Vec<&str> = incoming.info.path.trim_matches('/').split('/').collect();
    let legacy = match parts.as_slice() {
        ["api"] => {
            if let Some(format) = aggregated_format(accept) {
                return Some(aggregated(incoming, discovery.aggregated_core(), format));
            }
            Legacy::Versions {
                server_address: &shared.address,
            }
        }
        ["apis"] => {
            if let Some(format) = aggregated_format(accept) {
                return Some(aggregated(incoming, discovery.aggregated_groups(), format));
            }
            Legacy::Groups
        }
        ["apis", group] => Legacy::Group(group),
        ["api", version] => Legacy::Resources("", version),
        ["apis", group, version] => Legacy::Resources(group, version),
        _ => return None,
    };
    let Some(document) = discovery.legacy(legacy) else {
        return unknown_version(serving, &parts, incoming);
    };
    let offer = Offer {
        media: negotiate::BUILT_IN,
        plain_protobuf: true,
        transforms: false,
        tables: false,
        streams: false,
        routed: match legacy {
            Legacy::Versions { .. } => true,
            Legacy::Resources(group, _) => !serving.registry.is_custom_group(group),
            Legacy::Groups | Legacy::Group(_) => false,
        },
    };
    Some(
        match Accepted::negotiate(headers, &incoming.query, &offer) {
            Ok(accepted) => {
                note(incoming, &document);
                bytes_response(200, &accepted, document)
            }
            Err(error) => failure(incoming, &error),
        },
    )
}

/// Answers for a version that is not served: a known group has a missing resource, an unknown group a missing page.
fn unknown_version(
    serving: &Serving,
    parts: &[&str],
    incoming: &Incoming,
) -> Option<Response<Body>> {
    let known = match parts {
        ["api", _] => true,
        ["apis", group, _] => {
            serving.registry.has_group(group) && !serving.registry.is_custom_group(group)
        }
        _ => false,
    };
    known.then(|| failure(incoming, &status::resource_not_found()))
}

/// Records a document that is the answer.
fn note(incoming: &Incoming, document: &Bytes) {
    if let Some(record) = incoming.annotations.record() {
        record.response_object(|| document.clone());
    }
}

fn aggregated(incoming: &Incoming, document: &Aggregated, format: Format) -> Response<Body> {
    if document.is_known(incoming.request.headers()) {
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        answer.headers_mut().extend(document.headers(None));
        return answer;
    }
    let accepted = Accepted {
        media: match format {
            Format::Json => Media::Json,
            Format::Yaml => Media::Yaml,
            Format::Protobuf => Media::Protobuf,
        },
        ..Accepted::JSON
    };
    note(incoming, &document.json);
    let mut answer = bytes_response(200, &accepted, document.json.clone());
    let format = (answer.status() == StatusCode::OK).then_some(format);
    answer.headers_mut().extend(document.headers(format));
    answer
}

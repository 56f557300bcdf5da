//! The time that a request may take.

use std::time::Duration;

use kubewright_machinery::{Status, status, time::parse_duration};

use crate::{
    registry::Registry,
    request::{RequestInfo, Verb, query::Query},
};

/// The longest that a request may take by default unless it is long-running.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// Returns how long a request may take: `?timeout=`, and at most `longest`. Watches and streaming subresources have no
/// limit.
///
/// # Errors
///
/// A `timeout` that is not a duration is a bad request.
pub(super) fn of(
    info: &RequestInfo,
    query: &Query,
    registry: &Registry,
    longest: Duration,
) -> Result<Option<Duration>, Status> {
    if is_long_running(info, registry) {
        return Ok(None);
    }
    let Some(text) = query.first("timeout").filter(|text| !text.is_empty()) else {
        return Ok(Some(longest));
    };
    let nanoseconds = parse_duration(text).map_err(|e| {
        status::bad_request(format!(
            "invalid timeout specified in the request URL - {e}"
        ))
    })?;
    // Zero and less mean that the client has no wish of its own.
    let asked = u64::try_from(nanoseconds).ok().filter(|n| *n > 0);
    Ok(Some(
        asked.map_or(longest, |n| Duration::from_nanos(n).min(longest)),
    ))
}

/// Reports whether a request is a watch or goes to a streaming subresource. Other subresources are requests as any. Those of
/// other servers are known by their names only.
fn is_long_running(info: &RequestInfo, registry: &Registry) -> bool {
    if info.verb == Verb::Watch {
        return true;
    }
    if info.subresource.is_empty() {
        return false;
    }
    match registry.resource(&info.group, &info.version, &info.resource) {
        Some(resource) => resource
            .subresource(&info.subresource)
            .is_some_and(|subresource| subresource.handlers.connect.is_some()),
        None => info.is_long_running(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::{Method, Request, Response};
    use kubewright_derive::boxed_async;
    use kubewright_machinery::gvk::GroupVersionKind;

    use super::*;
    use crate::{
        body::Body,
        registry::{Connect, Handlers, RegistryBuilder, Resource, ResourceSpec, Subresource},
        request::RequestContext,
    };

    struct Stream;

    #[boxed_async]
    impl Connect for Stream {
        async fn connect(
            &self,
            _cx: &RequestContext,
            _name: &str,
            _request: Request<Body>,
        ) -> Result<Response<Body>, Status> {
            Ok(Response::new(Body::empty()))
        }
    }

    fn limit(uri: &str) -> Result<Option<Duration>, Status> {
        let mut builder = RegistryBuilder::default();
        let kind = GroupVersionKind::new("", "v1", "Pod");
        let spec = ResourceSpec::new(kind, "pods").namespaced();
        let pods = Resource::computed(spec, Handlers::default())
            .with_stream("log", Arc::new(Stream))
            .with_subresource(Subresource::new("status", Handlers::default()));
        builder.add(pods);
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let query = Query::parse(Some(query));
        let info = RequestInfo::new(&Method::GET, path, &query);
        of(&info, &query, &builder.build(), LONGEST)
    }

    #[test]
    fn only_watches_and_streams_are_unlimited() {
        let pod = "/api/v1/namespaces/a/pods/x";
        assert_eq!(limit(pod).unwrap(), Some(LONGEST));
        assert_eq!(limit(&format!("{pod}/status")).unwrap(), Some(LONGEST));
        assert_eq!(limit(&format!("{pod}/nothing")).unwrap(), Some(LONGEST));
        assert_eq!(limit("/livez").unwrap(), Some(LONGEST));
        assert_eq!(limit(&format!("{pod}/log")).unwrap(), None);
        assert_eq!(limit("/api/v1/pods?watch=1&timeout=never").unwrap(), None);
        let of_others = "/apis/sky.example.com/v1/comets/halley";
        assert_eq!(limit(&format!("{of_others}/log")).unwrap(), None);
        assert_eq!(limit(of_others).unwrap(), Some(LONGEST));
    }

    #[test]
    fn clients_may_ask_for_less() {
        let limit = |text: &str| limit(&format!("/api/v1/pods?timeout={text}"));
        assert_eq!(limit("1500ms").unwrap(), Some(Duration::from_millis(1500)));
        for more in ["2m", "0", "-1s", ""] {
            assert_eq!(limit(more).unwrap(), Some(LONGEST), "{more}");
        }
        let error = limit("invalid").unwrap_err();
        assert_eq!(error.code, 400);
        assert_eq!(
            error.message,
            "invalid timeout specified in the request URL - time: invalid duration \"invalid\""
        );
    }
}

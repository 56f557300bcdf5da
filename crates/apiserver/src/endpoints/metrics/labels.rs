//! The labels of request metrics.

use http::Method;

use crate::request::{RequestInfo, Verb, query::Query};

/// The labels of a request, borrowed while it is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RequestLabels<'a> {
    /// `GET`, `LIST`, `WATCH`, `POST`, …
    pub(crate) verb: &'a str,
    /// Empty for the core group.
    pub(crate) group: &'a str,
    /// `v1`
    pub(crate) version: &'a str,
    /// `pods`
    pub(crate) resource: &'a str,
    /// `status`; for paths without a resource, the path.
    pub(crate) subresource: &'a str,
    /// `resource`, `namespace`, `cluster`, or empty.
    pub(crate) scope: &'a str,
    /// `All` for a dry run, `invalid` where the option has another value, else empty.
    pub(crate) dry_run: &'a str,
    /// The part of the server that responded: `apiserver`, or empty for health.
    pub(crate) component: &'a str,
}

/// The same, owned.
pub(super) struct Labels {
    pub(super) verb: Box<str>,
    pub(super) group: Box<str>,
    pub(super) version: Box<str>,
    pub(super) resource: Box<str>,
    pub(super) subresource: Box<str>,
    pub(super) scope: Box<str>,
    pub(super) dry_run: Box<str>,
    pub(super) component: Box<str>,
}

/// Subresources that are conversations; every request to them is a `CONNECT`.
const CONNECTS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

/// The paths besides resources that get a label of their own.
const PATHS: [(&str, &str, &str); 9] = [
    ("/healthz", "/healthz", ""),
    ("/livez", "/livez", ""),
    ("/readyz", "/readyz", ""),
    ("/api", "api", "apiserver"),
    ("/apis", "apis", "apiserver"),
    ("/version", "version", "apiserver"),
    ("/metrics", "/metrics", ""),
    ("/openapi/v2", "openapi/v2", ""),
    ("/openapi/v3", "openapi/v3", ""),
];

impl RequestLabels<'static> {
    /// The series for everything beyond the limit.
    pub(super) const OTHER: Self = Self {
        verb: "other",
        group: "",
        version: "",
        resource: "",
        subresource: "",
        scope: "",
        dry_run: "",
        component: "",
    };
}

impl<'a> RequestLabels<'a> {
    /// The labels of a request to a resource that exists, or to another path.
    pub(crate) fn of(info: &'a RequestInfo, method: &Method, apply: bool, query: &Query) -> Self {
        if !info.is_resource {
            let path = PATHS
                .iter()
                .find(|(path, _, _)| *path == info.path.trim_end_matches('/'));
            let (subresource, component) =
                path.map_or(("", ""), |(_, label, part)| (*label, *part));
            return Self {
                verb: method_label(method),
                subresource,
                component,
                ..Self::default()
            };
        }
        Self {
            verb: verb(info, apply),
            group: &info.group,
            version: &info.version,
            resource: &info.resource,
            subresource: &info.subresource,
            scope: scope(info),
            dry_run: dry_run(query),
            component: "apiserver",
        }
    }
}

impl Labels {
    pub(super) fn are(&self, other: &RequestLabels<'_>) -> bool {
        *self.verb == *other.verb
            && *self.resource == *other.resource
            && *self.group == *other.group
            && *self.version == *other.version
            && *self.subresource == *other.subresource
            && *self.scope == *other.scope
            && *self.dry_run == *other.dry_run
            && *self.component == *other.component
    }
}

impl From<&RequestLabels<'_>> for Labels {
    fn from(labels: &RequestLabels<'_>) -> Self {
        Self {
            verb: labels.verb.into(),
            group: labels.group.into(),
            version: labels.version.into(),
            resource: labels.resource.into(),
            subresource: labels.subresource.into(),
            scope: labels.scope.into(),
            dry_run: labels.dry_run.into(),
            component: labels.component.into(),
        }
    }
}

fn verb(info: &RequestInfo, apply: bool) -> &'static str {
    if CONNECTS.contains(&info.subresource.as_str()) {
        return "CONNECT";
    }
    match info.verb {
        Verb::Get => "GET",
        Verb::List => "LIST",
        Verb::Watch => "WATCH",
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch if apply => "APPLY",
        Verb::Patch => "PATCH",
        Verb::Delete => "DELETE",
        Verb::DeleteCollection => "DELETECOLLECTION",
        Verb::Proxy | Verb::Other => "other",
    }
}

fn dry_run(query: &Query) -> &'static str {
    let (mut given, mut valid) = (false, true);
    for value in query.all("dryRun") {
        given = true;
        valid &= value == "All";
    }
    match (given, valid) {
        (false, _) => "",
        (true, true) => "All",
        (true, false) => "invalid",
    }
}

fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET | Method::HEAD => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

fn scope(info: &RequestInfo) -> &'static str {
    if !info.name.is_empty() || !info.selected_name.is_empty() || info.verb == Verb::Create {
        "resource"
    } else if !info.namespace.is_empty() {
        "namespace"
    } else {
        "cluster"
    }
}

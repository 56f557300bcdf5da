//! [`RequestInfo`]: the meaning of a method and a path, before anything is looked up.
//!
//! It knows the form of Kubernetes paths, but no resources. `GET /api/v1/namespaces/x/pods/y/status` has the verb `get`, an
//! empty group, the version `v1`, the namespace `x`, the resource `pods`, the name `y` and the subresource `status`.

use std::{borrow::Cow, fmt};

use http::Method;
use percent_encoding::percent_decode_str;

use super::query::Query;
use kubewright_machinery::{fields::FieldSelector, validation::names::is_path_segment_name};

/// The verb of a request, as authorization names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// The verb of paths such as `/api/v1/proxy/pods`, which nothing serves any more.
    Proxy,
    /// A non-resource request, or a method without a verb.
    Other,
}

/// The parsed method and path of a request.
///
/// ```
/// use http::Method;
/// use kubewright_apiserver::request::{Query, RequestInfo, Verb};
///
/// let path = "/api/v1/namespaces/x/pods/y/status";
/// let info = RequestInfo::new(&Method::GET, path, &Query::parse(None));
/// assert_eq!(info.verb, Verb::Get);
/// assert_eq!((info.namespace.as_str(), info.name.as_str()), ("x", "y"));
/// assert_eq!(info.subresource, "status");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestInfo {
    /// The decoded path.
    pub path: String,
    /// Whether the path names a resource (`/api/v1/pods`), not something else (`/healthz`, `/apis`).
    pub is_resource: bool,
    /// The verb.
    pub verb: Verb,
    /// The lower-case method, which is the verb of a request that names no resource.
    pub method: Cow<'static, str>,
    /// Whether the verb is part of the path, as in the deprecated `/api/v1/watch/pods`.
    pub verb_in_path: bool,
    /// The group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The namespace, or empty.
    pub namespace: String,
    /// The resource, such as `pods`.
    pub resource: String,
    /// The name of the object, or empty.
    pub name: String,
    /// The name that a field selector on `metadata.name` requires, or empty.
    pub selected_name: String,
    /// The subresource, such as `status`, or empty.
    pub subresource: String,
    /// The path segments after the subresource, as `proxy` has them.
    pub rest: Vec<String>,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Verb {
    /// Returns the name of the verb, such as `deletecollection`.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
            Verb::Proxy => "proxy",
            Verb::Other => "",
        }
    }

    /// Returns whether the verb changes something.
    pub fn is_write(self) -> bool {
        !matches!(
            self,
            Verb::Get | Verb::List | Verb::Watch | Verb::Proxy | Verb::Other
        )
    }
}

impl RequestInfo {
    /// Parses method, path and query.
    pub fn new(method: &Method, raw_path: &str, query: &Query) -> Self {
        let path = percent_decode_str(raw_path)
            .decode_utf8_lossy()
            .into_owned();
        let mut info = Self::non_resource(method, path);
        let path = std::mem::take(&mut info.path);
        info.read_path(method, &path, query);
        info.path = path;
        info
    }

    /// Returns the verb as rules name it: of a resource, or the lower-case method of other requests.
    pub fn verb_text(&self) -> &str {
        match self.is_resource {
            true => self.verb.as_str(),
            false => &self.method,
        }
    }

    /// Returns whether the request may last for as long as the client likes: a watch, or a stream such as `log` and `exec`.
    pub fn is_long_running(&self) -> bool {
        const STREAMS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];
        self.verb == Verb::Watch || STREAMS.contains(&self.subresource.as_str())
    }

    fn non_resource(method: &Method, path: String) -> Self {
        Self {
            path,
            is_resource: false,
            verb: Verb::Other,
            method: lower_case(method),
            verb_in_path: false,
            group: String::new(),
            version: String::new(),
            namespace: String::new(),
            resource: String::new(),
            name: String::new(),
            selected_name: String::new(),
            subresource: String::new(),
            rest: Vec::new(),
        }
    }

    fn read_path(&mut self, method: &Method, path: &str, query: &Query) {
        // As in kube-apiserver, an empty segment is a segment: two slashes are not one.
        let mut parts = path.trim_matches('/').split('/');
        match parts.next() {
            Some("api") => {}
            Some("apis") => match parts.next() {
                Some(group) if !group.is_empty() => self.group = group.to_owned(),
                _ => return,
            },
            _ => return,
        }
        let Some(version) = parts.next() else { return };
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return;
        }
        self.version = version.to_owned();
        self.is_resource = true;
        self.verb = match *method {
            Method::GET | Method::HEAD => Verb::Get,
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE => Verb::Delete,
            _ => Verb::Other,
        };
        // The deprecated way to watch: `/api/v1/watch/...`.
        if parts.peek() == Some(&"watch") && self.verb == Verb::Get {
            parts.next();
            self.verb = Verb::Watch;
            self.verb_in_path = true;
        }
        let mut parts: Vec<&str> = parts.collect();
        if parts.first() == Some(&"proxy") && parts.len() > 1 {
            parts.remove(0);
            self.verb = Verb::Proxy;
            self.verb_in_path = true;
        }
        if parts.first() == Some(&"namespaces") && parts.len() > 1 {
            self.namespace = parts[1].to_owned();
            // namespaces/x/status and namespaces/x/finalize belong to the namespace itself.
            if parts.len() > 2 && !matches!(parts[2], "status" | "finalize") {
                parts.drain(..2);
            }
        }
        let mut parts = parts.into_iter().map(str::to_owned);
        self.resource = parts.next().unwrap_or_default();
        self.name = parts.next().unwrap_or_default();
        if self.verb != Verb::Proxy {
            self.subresource = parts.next().unwrap_or_default();
        }
        self.rest = parts.collect();
        self.refine(query);
    }

    /// Refines the verb: a get without a name is a list or a watch, a delete without a name is a deletecollection.
    fn refine(&mut self, query: &Query) {
        if !self.name.is_empty() {
            return;
        }
        match self.verb {
            Verb::Get => {
                let watch = query.flag("watch").unwrap_or(false);
                self.verb = if watch { Verb::Watch } else { Verb::List };
                let name = query
                    .first("fieldSelector")
                    .and_then(|text| FieldSelector::parse(text).ok())
                    .and_then(|selector| {
                        selector.required_value("metadata.name").map(str::to_owned)
                    })
                    .filter(|name| is_path_segment_name(name).is_empty());
                self.selected_name = name.unwrap_or_default();
            }
            Verb::Delete => self.verb = Verb::DeleteCollection,
            _ => {}
        }
    }
}

fn lower_case(method: &Method) -> Cow<'static, str> {
    match *method {
        Method::GET => "get".into(),
        Method::HEAD => "head".into(),
        Method::POST => "post".into(),
        Method::PUT => "put".into(),
        Method::PATCH => "patch".into(),
        Method::DELETE => "delete".into(),
        _ => method.as_str().to_ascii_lowercase().into(),
    }
}

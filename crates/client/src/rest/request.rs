//! [`RestRequest`]: a request, built step by step.
//!
//! A mistake in one of the steps is kept and returned by [`send`](RestRequest::send), without sending anything.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use http_body_util::BodyExt;
use kube::client::Body;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Serialize, de::DeserializeOwned};

use super::{RestResponse, WatchStream, path::segment, response, watch};
use crate::{
    error::{Error, Result},
    policy::{MaxRetries, RequestTimeout, RequestWarnings, StreamedResponse, WarningHandler},
    stream::ByteStream,
};

/// A request that is being built. Created by [`RestClient`](super::RestClient).
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use kubewright_client::RestClient;
///
/// let request = RestClient::new(client)
///     .get()
///     .abs_path("/readyz")
///     .param("verbose", "")
///     .timeout(Duration::from_secs(5))
///     .max_retries(2);
/// assert!(request.send().await.unwrap().text().unwrap().contains("[+]ping ok"));
/// # });
/// ```
#[must_use = "a request does nothing until it is sent"]
pub struct RestRequest {
    client: kube::Client,
    method: Method,
    base: String,
    absolute: Option<String>,
    namespace: Option<String>,
    resource: Option<String>,
    name: Option<String>,
    subresource: Option<Vec<String>>,
    suffix: Vec<String>,
    query: String,
    headers: HeaderMap,
    body: Bytes,
    timeout: Option<Duration>,
    retries: Option<u32>,
    warnings: Option<Arc<dyn WarningHandler>>,
    mistake: Option<Error>,
}

impl RestRequest {
    pub(super) fn new(client: kube::Client, method: Method, base: String) -> Self {
        Self {
            client,
            method,
            base,
            absolute: None,
            namespace: None,
            resource: None,
            name: None,
            subresource: None,
            suffix: Vec::new(),
            query: String::new(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            timeout: None,
            retries: None,
            warnings: None,
            mistake: None,
        }
    }

    /// Sets an absolute path instead of one under a group version.
    pub fn abs_path(mut self, path: impl Into<String>) -> Self {
        self.absolute = Some(path.into());
        self
    }

    /// Sets the namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        if namespace.is_empty() {
            // All namespaces can be listed and watched, but nothing can be created or named there.
            self.namespace = Some(namespace);
            return self;
        }
        self.check("namespace", self.namespace.is_some(), &namespace);
        self.namespace = Some(namespace);
        self
    }

    /// Sets the resource: `pods`.
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        let resource = resource.into();
        self.check("resource", self.resource.is_some(), &resource);
        self.resource = Some(resource);
        self
    }

    /// Sets the name of the object.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        if name.is_empty() {
            self.fail("resource name may not be empty".into());
        }
        self.check("name", self.name.is_some(), &name);
        self.name = Some(name);
        self
    }

    /// Sets the subresource, such as `status`, or several path segments.
    pub fn subresource<T: Into<String>>(mut self, steps: impl IntoIterator<Item = T>) -> Self {
        let steps: Vec<String> = steps.into_iter().map(Into::into).collect();
        let twice = self.subresource.is_some();
        for step in &steps {
            self.check("subresource", twice, step);
        }
        self.subresource = Some(steps);
        self
    }

    /// Appends segments to the path.
    pub fn suffix<T: Into<String>>(mut self, segments: impl IntoIterator<Item = T>) -> Self {
        self.suffix.extend(segments.into_iter().map(Into::into));
        self
    }

    /// Adds a query parameter. The same name may be added several times.
    pub fn param(mut self, name: &str, value: impl AsRef<str>) -> Self {
        let separator = if self.query.is_empty() { "" } else { "&" };
        let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
        let value = utf8_percent_encode(value.as_ref(), NON_ALPHANUMERIC);
        // Writing to a string cannot fail.
        let _ = write!(self.query, "{separator}{name}={value}");
        self
    }

    /// Sets a header, replacing others of that name.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(value)) => {
                self.headers.insert(name, value);
            }
            _ => self.fail(format!("invalid header {name}: {value:?}")),
        }
        self
    }

    /// Sets a JSON body.
    pub fn json<T: Serialize + ?Sized>(self, body: &T) -> Self {
        self.json_as("application/json", body)
    }

    /// Sets a JSON body with another content type: `application/merge-patch+json`.
    pub fn json_as<T: Serialize + ?Sized>(mut self, content_type: &str, body: &T) -> Self {
        match serde_json::to_vec(body) {
            Ok(bytes) => self.bytes(content_type, bytes),
            Err(error) => {
                self.fail(format!("cannot encode the body: {error}"));
                self
            }
        }
    }

    /// Sets a raw body.
    pub fn bytes(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header(header::CONTENT_TYPE.as_str(), content_type)
    }

    /// Sets the timeout of all attempts and the whole response, and sends it to the server.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Sets the maximum number of retries, if the client [retries](crate::ClientOptions::max_retries) at all.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.retries = Some(retries);
        self
    }

    /// Sets the handler of warnings, if the client [handles them](crate::ClientOptions::warnings) at all.
    pub fn warnings(mut self, handler: impl WarningHandler + 'static) -> Self {
        self.warnings = Some(Arc::new(handler));
        self
    }

    /// Sends the request and waits for the whole response.
    ///
    /// # Errors
    ///
    /// Fails if the request is malformed, if the server answers with a failure, or if it cannot be reached.
    pub async fn send(self) -> Result<RestResponse> {
        let (client, timeout) = (self.client.clone(), self.timeout);
        let request = self.build()?;
        let exchange = response::exchange(&client, request);
        match timeout {
            // The client may not have a timeout layer.
            Some(limit) => tokio::time::timeout(limit, exchange)
                .await
                .map_err(|_| Error::TimedOut(limit))?,
            None => exchange.await,
        }
    }

    /// Sends the request and returns the body while it arrives.
    ///
    /// # Errors
    ///
    /// Fails like [`send`](Self::send).
    pub async fn stream(self) -> Result<ByteStream> {
        let client = self.client.clone();
        let mut request = self.build()?;
        request.extensions_mut().insert(StreamedResponse);
        let response = response::open(&client, request).await?;
        let chunks = response.into_body().into_data_stream();
        Ok(Box::pin(chunks.map(|chunk| chunk.map_err(Into::into))))
    }

    /// Sends the request as a watch and decodes events while they arrive.
    ///
    /// # Errors
    ///
    /// Fails like [`send`](Self::send).
    pub async fn watch<T: DeserializeOwned + Send + 'static>(self) -> Result<WatchStream<T>> {
        let client = self.client.clone();
        let request = self.param("watch", "true").build()?;
        watch::open(&client, request, Ok).await
    }

    /// Returns the HTTP request without sending it.
    ///
    /// # Errors
    ///
    /// Fails if the request is malformed.
    pub fn build(mut self) -> Result<Request<Body>> {
        if let Some(mistake) = self.mistake.take() {
            return Err(mistake);
        }
        self.preflight()?;
        let mut uri = self.path()?;
        if let Some(limit) = self.timeout {
            self = self.param("timeout", format!("{}s", limit.as_secs_f64()));
        }
        if !self.query.is_empty() {
            let separator = if uri.contains('?') { '&' } else { '?' };
            uri = format!("{uri}{separator}{}", self.query);
        }
        let mut request = Request::builder()
            .method(self.method)
            .uri(uri)
            .body(Body::from(self.body))
            .map_err(|error| Error::Request(error.to_string()))?;
        *request.headers_mut() = self.headers;
        let accept = HeaderValue::from_static("application/json, */*");
        request
            .headers_mut()
            .entry(header::ACCEPT)
            .or_insert(accept);
        let extensions = request.extensions_mut();
        self.timeout
            .map(|limit| extensions.insert(RequestTimeout(limit)));
        self.retries
            .map(|retries| extensions.insert(MaxRetries(retries)));
        self.warnings
            .map(|handler| extensions.insert(RequestWarnings(handler)));
        Ok(request)
    }

    fn path(&self) -> Result<String> {
        let mut path = self.absolute.clone().unwrap_or_else(|| self.base.clone());
        let mut push = |what: &str, value: &str| -> Result<()> {
            path.push('/');
            path.push_str(&segment(what, value)?);
            Ok(())
        };
        if let Some(namespace) = self.namespace.as_deref().filter(|ns| !ns.is_empty()) {
            push("resource", "namespaces")?;
            push("namespace", namespace)?;
        }
        for (what, value) in [("resource", &self.resource), ("name", &self.name)] {
            if let Some(value) = value {
                push(what, value)?;
            }
        }
        for step in self.subresource.iter().flatten() {
            push("subresource", step)?;
        }
        for more in &self.suffix {
            push("segment", more)?;
        }
        if path.is_empty() {
            path.push('/');
        }
        Ok(path)
    }

    fn preflight(&self) -> Result<()> {
        if self.namespace.as_deref() != Some("") {
            return Ok(());
        }
        let named = [Method::GET, Method::PUT, Method::DELETE].contains(&self.method);
        let refused = match &self.name {
            Some(_) if named => {
                "an empty namespace may not be set when a resource name is provided"
            }
            _ if self.method == Method::POST => "an empty namespace may not be set during creation",
            _ => return Ok(()),
        };
        Err(Error::Request(refused.to_owned()))
    }

    fn check(&mut self, what: &str, twice: bool, value: &str) {
        if twice {
            self.fail(format!("{what} already set, cannot change to {value:?}"));
        } else if let Err(error) = segment(what, value) {
            self.mistake.get_or_insert(error);
        }
    }

    fn fail(&mut self, mistake: String) {
        self.mistake.get_or_insert(Error::Request(mistake));
    }
}

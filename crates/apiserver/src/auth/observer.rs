//! [`AccessObserver`]: learns what requests were allowed and denied.

use super::{Attributes, Decision};

/// Learns of every decision about a request. Questions of access reviews and of admission plugins are not requests.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::{Arc, Mutex};
///
/// use http::Request;
/// use kubewright_apiserver::{
///     ApiServer, Body,
///     auth::{AccessObserver, Attributes, Decision},
///     registry::Registry,
/// };
///
/// #[derive(Default)]
/// struct Verbs(Mutex<Vec<String>>);
///
/// impl AccessObserver for Verbs {
///     fn decided(&self, attributes: &Attributes<'_>, _: &Decision) {
///         self.0.lock().unwrap().push(attributes.verb.to_owned());
///     }
/// }
///
/// let verbs = Arc::new(Verbs::default());
/// let server = ApiServer::builder(Registry::default()).access_observer(verbs.clone()).build();
/// server.handle(Request::get("/version").body(Body::empty()).unwrap()).await;
/// assert_eq!(*verbs.0.lock().unwrap(), ["get"]);
/// # });
/// ```
pub trait AccessObserver: Send + Sync + 'static {
    /// Takes note of a decision. Called before the request goes on, so it must not block.
    fn decided(&self, attributes: &Attributes<'_>, decision: &Decision);
}

//! [`AccessObserver`]: learns what requests were allowed and denied.

use std::sync::Arc;

use kubewright_derive::boxed_async;

use super::{Attributes, Authorizer, Decision, Rules};
use crate::request::UserInfo;

/// Learns of every decision that a request depended on: the one about the request itself, and those that are made while it
/// is handled, such as that about `create` when an apply creates an object. Of permissions that replace each other it learns
/// the one that was used, or, if the request is denied, the one that was missing. The questions of access reviews are not
/// among them.
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
    /// Observes a decision. Called before the request continues, so it must not block.
    fn decided(&self, attributes: &Attributes<'_>, decision: &Decision);

    /// Learns that a request needed no permission like this one, since the user has others that do as well: no `escalate`
    /// for a role with permissions that its writer has. An earlier request may have been denied for want of it.
    fn unneeded(&self, attributes: &Attributes<'_>) {
        let _ = attributes;
    }
}

/// An authorizer whose decisions are observed.
pub(crate) struct Observed {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) observer: Arc<dyn AccessObserver>,
}

#[boxed_async]
impl Authorizer for Observed {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        self.authorizer.authorize(attributes).await
    }

    async fn rules_for(&self, user: &UserInfo, namespace: &str) -> Rules {
        self.authorizer.rules_for(user, namespace).await
    }

    fn decided(&self, attributes: &Attributes<'_>, decision: &Decision) {
        self.observer.decided(attributes, decision);
    }

    fn unneeded(&self, attributes: &Attributes<'_>) {
        self.observer.unneeded(attributes);
    }
}

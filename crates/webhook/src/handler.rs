//! [`Handler`]: handles reviews of any kind.

use std::future::Future;

use futures_util::future::BoxFuture;

use crate::{admission::Admission, review::AdmissionResponse};

/// Handles admission reviews of any kind, with objects as JSON.
///
/// [`Defaulter`](crate::Defaulter) and [`Validator`](crate::Validator) are simpler for kinds that have a Rust type. Closures
/// implement the trait.
///
/// ```
/// use kubewright_webhook::{Admission, AdmissionResponse, Operation, Rule, Webhook};
///
/// let rule = Rule::new("", "v1", "pods/exec");
/// let webhook = Webhook::validating("/validate-exec", |ctx: &Admission<'_>| {
///     match ctx.user().is_in("system:masters") {
///         true => AdmissionResponse::allowed(),
///         false => AdmissionResponse::denied("no shells in this cluster"),
///     }
/// })
/// .named("exec.crew.example.com")
/// .rule(rule)
/// .operations([Operation::Connect]);
/// assert_eq!(webhook.path(), "/validate-exec");
/// ```
pub trait Handler: Send + Sync + 'static {
    /// Handles a review.
    fn handle(&self, ctx: &Admission<'_>) -> impl Future<Output = AdmissionResponse> + Send;
}

impl<F> Handler for F
where
    F: Fn(&Admission<'_>) -> AdmissionResponse + Send + Sync + 'static,
{
    async fn handle(&self, ctx: &Admission<'_>) -> AdmissionResponse {
        self(ctx)
    }
}

/// A handler of any type.
pub(crate) trait DynHandler: Send + Sync {
    fn answer<'a>(&'a self, ctx: &'a Admission<'_>) -> BoxFuture<'a, AdmissionResponse>;
}

impl<H: Handler> DynHandler for H {
    fn answer<'a>(&'a self, ctx: &'a Admission<'_>) -> BoxFuture<'a, AdmissionResponse> {
        Box::pin(self.handle(ctx))
    }
}

//! [`Reconciler`], its input ([`Request`]) and its result ([`Action`], [`Error`]).
//!
//! A reconciler learns *which* object to reconcile, not what happened to it: it reads the current state and makes it
//! the desired one. It never runs twice at once for one request. Errors are logged and retried with growing delays; a
//! panic is an error too.
//!
//! | module | contents |
//! |---|---|
//! | `request`, `action`, `error`, `id` | [`Request`], [`Action`], [`Error`], [`ReconcileId`] |
//! | `function` | functions as reconcilers: of a request, or of an object |

mod action;
mod error;
mod function;
mod id;
mod request;

use std::future::Future;

use futures_util::future::BoxFuture;

pub use action::Action;
pub(crate) use action::Next;
pub use error::{Error, ErrorKind, Result};
pub use function::{IntoReconciler, ObjectFn, RequestFn, Struct};
pub use id::ReconcileId;
pub use request::Request;

use crate::context::Context;

/// Makes the state of an object the desired one.
///
/// Async functions are reconcilers too, and usually shorter: see [`IntoReconciler`]. Implement this trait for a type that
/// has a state of its own. [`Context::with_object`] gives it what functions of an object have: finalizers, owned objects and
/// the status.
///
/// ```
/// use kubewright_controller::{Action, Context, Reconciler, Request, Result};
///
/// struct Greeter {
///     greeting: String,
/// }
///
/// impl Reconciler for Greeter {
///     async fn reconcile(&self, _: Context, request: Request) -> Result<Action> {
///         println!("{}, {request}", self.greeting);
///         Ok(Action::done())
///     }
/// }
/// ```
pub trait Reconciler: Send + Sync + 'static {
    /// Reconciles one object.
    ///
    /// # Errors
    ///
    /// Fails if the object should be reconciled again later.
    fn reconcile(
        &self,
        context: Context,
        request: Request,
    ) -> impl Future<Output = Result<Action>> + Send;
}

/// A reconciler of any type.
pub(crate) trait DynReconciler: Send + Sync {
    fn run(&self, context: Context, request: Request) -> BoxFuture<'_, Result<Action>>;
}

impl<R: Reconciler> DynReconciler for R {
    fn run(&self, context: Context, request: Request) -> BoxFuture<'_, Result<Action>> {
        Box::pin(self.reconcile(context, request))
    }
}

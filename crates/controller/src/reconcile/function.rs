//! Functions as reconcilers.

use std::{future::Future, marker::PhantomData, sync::Arc};

use super::{Action, Reconciler, Request, Result};
use crate::{context::Context, object::Object};

/// Converts into a reconciler: an async function of an object or of a request, or a [`Reconciler`] itself.
///
/// A function of an object is not called for objects that no longer exist. `S` is the state that
/// [`ControllerBuilder::state`](crate::ControllerBuilder::state) was given.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_controller::{Action, Context, Controller, Manager, Request, Result};
///
/// struct Settings {
///     greeting: String,
/// }
///
/// async fn of_an_object(context: Context<ConfigMap, Settings>, map: Arc<ConfigMap>) -> Result<Action> {
///     println!("{}, {:?}", context.state().greeting, map.metadata.name);
///     Ok(Action::done())
/// }
///
/// async fn of_a_request(context: Context, request: Request) -> Result<Action> {
///     println!("{request} exists: {}", context.get::<Secret>(&request).await?.is_some());
///     Ok(Action::done())
/// }
///
/// let manager = Manager::new(cluster.client());
/// let settings = Settings { greeting: "Hello".into() };
/// Controller::for_::<ConfigMap>().state(settings).build(&manager, of_an_object).unwrap();
/// Controller::for_::<Secret>().build(&manager, of_a_request).unwrap();
/// # });
/// ```
pub trait IntoReconciler<S, Form>: Send + Sync + 'static {
    /// Returns the reconciler.
    fn into_reconciler(self, state: Arc<S>) -> impl Reconciler;
}

/// Marks functions of an object in [`IntoReconciler`].
pub struct ObjectFn<K>(PhantomData<K>);

/// Marks functions of a request in [`IntoReconciler`].
pub struct RequestFn;

/// Marks implementations of [`Reconciler`] in [`IntoReconciler`].
pub struct Struct;

/// A function of a request, with its state.
struct OfRequest<F, S> {
    function: F,
    state: Arc<S>,
}

/// A function of an object, with its state.
struct OfObject<F, S, K> {
    function: F,
    state: Arc<S>,
    kind: PhantomData<fn() -> K>,
}

impl<R: Reconciler> IntoReconciler<(), Struct> for R {
    fn into_reconciler(self, _: Arc<()>) -> impl Reconciler {
        self
    }
}

impl<S, F, R> IntoReconciler<S, RequestFn> for F
where
    S: Send + Sync + 'static,
    F: Fn(Context<(), S>, Request) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action>> + Send,
{
    fn into_reconciler(self, state: Arc<S>) -> impl Reconciler {
        OfRequest {
            function: self,
            state,
        }
    }
}

impl<K, S, F, R> IntoReconciler<S, ObjectFn<K>> for F
where
    K: Object,
    S: Send + Sync + 'static,
    F: Fn(Context<K, S>, Arc<K>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action>> + Send,
{
    fn into_reconciler(self, state: Arc<S>) -> impl Reconciler {
        OfObject {
            function: self,
            state,
            kind: PhantomData,
        }
    }
}

impl<S, F, R> Reconciler for OfRequest<F, S>
where
    S: Send + Sync + 'static,
    F: Fn(Context<(), S>, Request) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action>> + Send,
{
    async fn reconcile(&self, context: Context, request: Request) -> Result<Action> {
        (self.function)(context.with_state(self.state.clone()), request).await
    }
}

impl<K, S, F, R> Reconciler for OfObject<F, S, K>
where
    K: Object,
    S: Send + Sync + 'static,
    F: Fn(Context<K, S>, Arc<K>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Action>> + Send,
{
    async fn reconcile(&self, context: Context, request: Request) -> Result<Action> {
        let Some(object) = context.get::<K>(&request).await? else {
            return Ok(Action::done());
        };
        let context = context
            .with_state(self.state.clone())
            .with_object(object.clone());
        (self.function)(context, object).await
    }
}

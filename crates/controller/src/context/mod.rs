//! [`Context`]: what a reconciler works with.
//!
//! | module | contents |
//! |---|---|
//! | `finalize` | finalizers as closures |
//! | `owned` | objects that the reconciled object owns |
//! | `status` | writing the status if it changed; conditions |

mod finalize;
mod owned;
mod status;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use parking_lot::Mutex;

use crate::{
    client::{Client, ReadError},
    clock::SharedClock,
    events::{EventType, Recorder, RecorderSource},
    manager::Stop,
    object::Object,
    reconcile::{ReconcileId, Request},
    status::Trigger,
};

/// The context of a reconcile: the client, the author's state, the clock, the recorder of events, and, in functions of
/// an object, that object's finalizers, owned objects and status.
///
/// `K` is the type of the reconciled object, or `()` in functions of a request; `S` is the
/// [state](crate::ControllerBuilder::state). Cheap to clone.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_controller::{Action, Context, Result, events::EventType};
///
/// async fn reconcile(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
///     ctx.finalize("example.com/sign", async |map| {
///         println!("taking down the sign of {:?}", map.metadata.name);
///         Ok(())
///     })
///     .await?;
///     let mut secret = Secret { string_data: map.data.clone(), ..Secret::default() };
///     secret.metadata.name = map.metadata.name.clone();
///     let secret = ctx.apply_owned(secret).await?;
///     ctx.event(EventType::Normal, "Copied", "the Secret has the same data");
///     Ok(Action::requeue_if(secret.data.is_none(), Duration::from_secs(30)))
/// }
/// ```
pub struct Context<K = (), S = ()> {
    shared: Arc<Shared>,
    run: Arc<Run>,
    /// The newest known state of the object; written by this context, too.
    object: Arc<Mutex<Arc<K>>>,
    state: Arc<S>,
}

/// The parts of a context that are the same in all runs of a controller.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) clock: SharedClock,
    pub(crate) recorder: RecorderSource,
}

/// One run.
pub(crate) struct Run {
    pub(crate) request: Request,
    pub(crate) id: ReconcileId,
    pub(crate) attempt: usize,
    pub(crate) trigger: Option<Trigger>,
    pub(crate) stop: Stop,
}

impl<K, S> Clone for Context<K, S> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            run: self.run.clone(),
            object: self.object.clone(),
            state: self.state.clone(),
        }
    }
}

impl Context {
    pub(crate) fn new(shared: Arc<Shared>, run: Run) -> Self {
        Self {
            shared,
            run: Arc::new(run),
            object: Arc::default(),
            state: Arc::default(),
        }
    }

    pub(crate) fn with_state<S>(self, state: Arc<S>) -> Context<(), S> {
        Context {
            shared: self.shared,
            run: self.run,
            object: self.object,
            state,
        }
    }
}

impl<S> Context<(), S> {
    /// Returns the context for an object, with its finalizers, owned objects and status. A [`Reconciler`](crate::Reconciler)
    /// that is a struct gets the request and reads the object itself; functions of an object have such a context already.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let cluster = kubewright_testing::TestCluster::start().await;
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kubewright_controller::{Action, Context, Controller, Manager, Reconciler, Request, Result};
    ///
    /// struct Copier {
    ///     suffix: String,
    /// }
    ///
    /// impl Reconciler for Copier {
    ///     async fn reconcile(&self, ctx: Context, request: Request) -> Result<Action> {
    ///         let Some(map) = ctx.get::<ConfigMap>(&request).await? else {
    ///             return Ok(Action::done());
    ///         };
    ///         let ctx = ctx.with_object(map.clone());
    ///         let mut secret = Secret { string_data: map.data.clone(), ..Secret::default() };
    ///         secret.metadata.name = Some(format!("{}{}", request.name(), self.suffix));
    ///         ctx.apply_owned(secret).await?;
    ///         Ok(Action::done())
    ///     }
    /// }
    ///
    /// let manager = Manager::new(cluster.client());
    /// let copier = Copier { suffix: "-copy".into() };
    /// Controller::for_::<ConfigMap>().owns::<Secret>().build(&manager, copier).unwrap();
    /// # });
    /// ```
    pub fn with_object<K>(self, object: Arc<K>) -> Context<K, S> {
        Context {
            shared: self.shared,
            run: self.run,
            object: Arc::new(Mutex::new(object)),
            state: self.state,
        }
    }
}

impl<K, S> Context<K, S> {
    /// Returns the client, which reads from the caches and writes to the server.
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Returns the author's state.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Returns the request.
    pub fn request(&self) -> &Request {
        &self.run.request
    }

    /// Returns the object of a request from the cache; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the cache cannot be read.
    pub async fn get<T: Object>(&self, request: &Request) -> Result<Option<Arc<T>>, ReadError> {
        self.client().get_key(request.key()).await
    }

    /// Returns the time by the clock of the cluster: the machine's, or the test's.
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Returns the recorder of events in the name of the controller.
    pub fn recorder(&self) -> &Recorder {
        self.shared.recorder.get()
    }

    /// Returns the ID of this run in logs.
    pub fn reconcile_id(&self) -> ReconcileId {
        self.run.id
    }

    /// Returns how often the request has failed in a row.
    pub fn attempt(&self) -> usize {
        self.run.attempt
    }

    /// Returns the trigger of this run. Of several, it is the last that was due at once.
    pub fn trigger(&self) -> Option<&Trigger> {
        self.run.trigger.as_ref()
    }

    /// Returns the stop signal of the controller. A reconcile may continue until it has ended, but no longer than the
    /// manager's shutdown timeout.
    pub fn stop(&self) -> &Stop {
        &self.run.stop
    }
}

impl<K: Object, S> Context<K, S> {
    /// Returns the object as this run knows it: as it was read from the cache, or as the server returned it after
    /// [`finalize`](Self::finalize) or [`status`](Self::status) wrote it.
    pub fn object(&self) -> Arc<K> {
        self.object.lock().clone()
    }

    /// Records an event about the object. Does not wait.
    pub fn event(&self, type_: EventType, reason: &str, note: impl Into<String>) {
        let regarding: ObjectReference = self.object().object_ref(&());
        self.recorder().event_about(regarding, type_, reason, note);
    }

    fn replace_object(&self, object: K) {
        *self.object.lock() = Arc::new(object);
    }
}

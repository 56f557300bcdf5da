//! [`Program`]: a program that can be perturbed.

use std::{future::Future, sync::Arc};

use futures_util::future::LocalBoxFuture;
use kubewright_apiserver::BoxError;
use kubewright_builtin_controllers::Controllers;
use kubewright_controller::{Manager, ManagerBuilder, ManagerError};

use crate::cluster::TestCluster;

/// A program that [`perturb`](super::perturb) can start repeatedly.
///
/// Implemented for functions that build a manager, `Fn(ManagerBuilder) -> Result<Manager, ManagerError>`, and for
/// functions that return a new [`Installable`] such as an operator, `Fn() -> Operator`. The compiler infers the `Form`.
///
/// ```
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, Manager, ManagerBuilder, ManagerError, Request};
/// use kubewright_testing::{World, perturb};
///
/// let program = |manager: ManagerBuilder| {
///     let manager = manager.build()?;
///     Controller::for_::<ConfigMap>()
///         .build(&manager, |_: Context, _: Request| async { Ok(Action::done()) })?;
///     Ok::<Manager, ManagerError>(manager)
/// };
/// perturb(program, |_: World| async {}).run();
/// ```
pub trait Program<Form>: Send + Sync + 'static {
    /// Returns the parts of the program.
    #[doc(hidden)]
    fn into_parts(self) -> Parts;
}

/// A program that installs something on its cluster before it runs, such as an operator. [`perturb`](super::perturb) installs it
/// once, and runs it beside the built-in controllers.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
/// use kube::Api;
/// use kubewright_controller::{
///     Action, BoxError, Context, Controller, Manager, ManagerBuilder, ManagerError, Request,
/// };
/// use kubewright_testing::{Installable, TestCluster, World, perturb};
///
/// struct Shop;
///
/// impl Installable for Shop {
///     async fn install(&self, cluster: &TestCluster) -> Result<(), BoxError> {
///         let mut namespace = Namespace::default();
///         namespace.metadata.name = Some("shop".into());
///         Api::all(cluster.client()).create(&Default::default(), &namespace).await?;
///         Ok(())
///     }
///
///     fn into_manager(self, builder: ManagerBuilder) -> Result<Manager, ManagerError> {
///         let manager = builder.build()?;
///         Controller::for_::<ConfigMap>()
///             .build(&manager, |_: Context, _: Request| async { Ok(Action::done()) })?;
///         Ok(manager)
///     }
/// }
///
/// let report = perturb(|| Shop, |_: World| async {})
///     .invariant("there is a shop", |state| match state.get("namespaces", "shop") {
///         Some(_) => Ok(()),
///         None => Err("it is gone".into()),
///     })
///     .run();
/// assert!(report.is_success());
/// ```
pub trait Installable: Sized + 'static {
    /// Installs what the program needs on the cluster, such as CustomResourceDefinitions and roles.
    fn install(&self, cluster: &TestCluster) -> impl Future<Output = Result<(), BoxError>>;

    /// Registers the program for calls by the cluster, such as those to its webhooks. Called for every cluster and every start
    /// of the program. A killed program keeps serving calls until its next start, as if it had a replica.
    ///
    /// # Errors
    ///
    /// Fails if the program is invalid.
    fn serve(&self, _cluster: &TestCluster) -> Result<(), BoxError> {
        Ok(())
    }

    /// Returns the user of the program (default: the administrator), such as `system:serviceaccount:shop-system:shop`. A denied
    /// request of this user fails the run.
    fn user(&self) -> Option<String> {
        None
    }

    /// Builds the manager that runs the program.
    ///
    /// # Errors
    ///
    /// Fails if the program is invalid.
    fn into_manager(self, builder: ManagerBuilder) -> Result<Manager, ManagerError>;
}

/// The form of a [`Program`] that builds a manager.
#[doc(hidden)]
pub struct Managed;

/// The form of a [`Program`] that is an [`Installable`].
#[doc(hidden)]
pub struct Installed<I>(I);

/// The parts of a [`Program`].
#[doc(hidden)]
#[derive(Clone)]
pub struct Parts {
    pub(super) build: Arc<Build>,
    pub(super) install: Arc<Install>,
    pub(super) serve: Arc<Serve>,
    pub(super) user: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    pub(super) controllers: Controllers,
}

type Build = dyn Fn(ManagerBuilder, &TestCluster) -> Result<Manager, ManagerError> + Send + Sync;

type Serve = dyn Fn(&TestCluster) -> Result<(), BoxError> + Send + Sync;

type Install = dyn Fn(&TestCluster) -> LocalBoxFuture<'_, Result<(), BoxError>> + Send + Sync;

impl<F> Program<Managed> for F
where
    F: Fn(ManagerBuilder) -> Result<Manager, ManagerError> + Send + Sync + 'static,
{
    fn into_parts(self) -> Parts {
        Parts {
            build: Arc::new(move |builder, _| self(builder)),
            install: Arc::new(|_| Box::pin(async { Ok(()) })),
            serve: Arc::new(|_| Ok(())),
            user: Arc::new(|| None),
            controllers: Controllers::none(),
        }
    }
}

impl<F, I> Program<Installed<I>> for F
where
    F: Fn() -> I + Send + Sync + 'static,
    I: Installable,
{
    fn into_parts(self) -> Parts {
        let program = Arc::new(self);
        let (installed, named) = (program.clone(), program.clone());
        let served = program.clone();
        Parts {
            serve: Arc::new(move |cluster| served().serve(cluster)),
            user: Arc::new(move || named().user()),
            build: Arc::new(move |builder, cluster| {
                let program = program();
                let served = program.serve(cluster);
                served.map_err(|cause| ManagerError::Runnable {
                    name: "webhooks".to_owned(),
                    cause,
                })?;
                program.into_manager(builder)
            }),
            install: Arc::new(move |cluster| {
                let program = installed();
                Box::pin(async move { program.install(cluster).await })
            }),
            controllers: Controllers::default(),
        }
    }
}

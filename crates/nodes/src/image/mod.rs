//! [`Images`]: what containers do, by the name of their image.

mod command;
mod container;
mod name;

use std::{collections::BTreeMap, future::Future, sync::Arc};

use futures_util::future::BoxFuture;
use parking_lot::RwLock;

use crate::{
    behavior::Behavior,
    pod::plan::{ContainerPlan, Kind, Plan},
};
pub use container::Container;
pub(crate) use container::{Inner, Signals};
pub(crate) use name::{digest, full_name, hex};

/// The prefix of annotations that choose the behavior of a container.
const ANNOTATION: &str = "behavior.kubewright.dev/";

/// An image whose containers are Rust functions. Closures that return a future of an exit code are images.
pub trait Image: Send + Sync + 'static {
    /// Runs a container until it ends, and returns its exit code. The future is dropped when the container is killed.
    fn run(&self, container: Container) -> BoxFuture<'static, i32>;
}

impl<F, R> Image for F
where
    F: Fn(Container) -> R + Send + Sync + 'static,
    R: Future<Output = i32> + Send + 'static,
{
    fn run(&self, container: Container) -> BoxFuture<'static, i32> {
        Box::pin(self(container))
    }
}

/// The behavior of containers by the name of their image. Clones share it.
///
/// ```
/// use kubewright_nodes::{Behavior, Container, Images};
///
/// let images = Images::default();
/// images.register("registry.example/flaky:v1", Behavior::exits(1));
/// images.register_fn("registry.example/greeter:v1", |container: Container| async move {
///     container.log("hello");
///     container.stopped().await;
///     0
/// });
/// ```
#[derive(Clone, Default)]
pub struct Images(Arc<RwLock<BTreeMap<String, Arc<Behavior>>>>);

impl Images {
    /// Sets what containers of an image do. `name` is the name that pods use, with or without tag; a name that ends with `*`
    /// stands for all that begin like it.
    pub fn register(&self, name: impl Into<String>, behavior: Behavior) {
        self.0.write().insert(name.into(), Arc::new(behavior));
    }

    /// Runs a function for each container of an image.
    pub fn register_fn(&self, name: impl Into<String>, image: impl Image) {
        self.register(name, Behavior::function(image));
    }

    /// Forgets what containers of an image do. Those that run go on.
    pub fn remove(&self, name: &str) {
        self.0.write().remove(name);
    }

    /// Returns what a container does: as its annotation says, its image, its command, or by default.
    pub(crate) fn behavior(&self, pod: &Plan, container: &ContainerPlan) -> Arc<Behavior> {
        let raw = &container.raw;
        let said = pod.annotations.get(&format!("{ANNOTATION}{}", raw.name));
        if let Some(behavior) = said.and_then(|text| command::annotation(text)) {
            return Arc::new(behavior);
        }
        if let Some(registered) = self.registered(&raw.image) {
            return registered;
        }
        if let Some(behavior) = command::behavior(&raw.command, &raw.args) {
            return Arc::new(behavior);
        }
        let line = format!("simulated container {} started", raw.image);
        let restarts = pod.spec.restart_policy != "Never" && pod.spec.restart_policy != "OnFailure";
        let runs = match container.kind {
            Kind::Main => restarts,
            Kind::Init => false,
            Kind::Sidecar | Kind::Ephemeral => true,
        };
        Arc::new(match runs {
            true => Behavior::runs().logs([line]),
            false => Behavior::exits(0).logs([line]),
        })
    }

    fn registered(&self, image: &str) -> Option<Arc<Behavior>> {
        let images = self.0.read();
        let exact = images
            .get(image)
            .or_else(|| images.get(name::untagged(image)));
        let matching = || {
            let patterns = images.iter().rev();
            let mut patterns = patterns.filter_map(|(name, b)| Some((name.strip_suffix('*')?, b)));
            patterns
                .find(|(prefix, _)| image.starts_with(prefix))
                .map(|(_, behavior)| behavior)
        };
        exact.or_else(matching).cloned()
    }
}

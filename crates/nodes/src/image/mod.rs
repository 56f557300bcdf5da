//! [`Images`]: the behavior of containers, by the name of their image.

mod command;
mod container;
mod files;
mod http;
mod name;

use std::{collections::BTreeMap, future::Future, sync::Arc};

use futures_util::future::BoxFuture;
use parking_lot::RwLock;

use crate::{
    agnhost,
    behavior::Behavior,
    inside::run_script,
    pod::plan::{ContainerPlan, Kind, Plan},
    shell,
    web_server::WebServer,
};
pub(crate) use command::duration;
pub use container::Container;
pub(crate) use container::{Inner, Signals};
pub use http::HttpBody;
use name::missing;
pub(crate) use name::{digest, full_name, hex, untagged};

/// The prefix of annotations that choose the behavior of a container.
const ANNOTATION: &str = "behavior.kubewright.dev/";

/// An image whose containers are Rust functions. Closures that return a future of an exit code implement it.
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
    /// Sets the behavior of the containers of an image. `name` is the name that pods use, with or without a tag; a trailing `*`
    /// matches any suffix.
    pub fn register(&self, name: impl Into<String>, behavior: Behavior) {
        self.0.write().insert(name.into(), Arc::new(behavior));
    }

    /// Runs a function for each container of an image.
    pub fn register_fn(&self, name: impl Into<String>, image: impl Image) {
        self.register(name, Behavior::function(image));
    }

    /// Removes the behavior of an image. Running containers are not affected.
    pub fn remove(&self, name: &str) {
        self.0.write().remove(name);
    }

    /// Returns the behavior of a container: that of its annotation, its image, its command, or the default.
    pub(crate) fn behavior(&self, pod: &Plan, container: &ContainerPlan) -> Arc<Behavior> {
        let raw = &container.raw;
        let said = pod.annotations.get(&format!("{ANNOTATION}{}", raw.name));
        if let Some(behavior) = said.and_then(|text| command::annotation(text)) {
            return Arc::new(behavior);
        }
        if let Some(registered) = self.registered(&raw.image) {
            return registered;
        }
        if let Some(reason) = missing(&raw.image) {
            return Arc::new(Behavior::fails_to_pull(reason));
        }
        if let Some(line) = effective_user(pod, container) {
            return Arc::new(Behavior::exits(0).logs([line]));
        }
        if let Some(behavior) = agnhost::behavior(container) {
            return Arc::new(behavior);
        }
        if let Some(behavior) = command::behavior(&raw.command, &raw.args) {
            return Arc::new(behavior);
        }
        if let Some(behavior) = script(container) {
            return Arc::new(behavior);
        }
        let line = format!("simulated container {} started", raw.image);
        let restarts = pod.spec.restart_policy != "Never" && pod.spec.restart_policy != "OnFailure";
        let runs = match container.kind {
            Kind::Main => restarts || WebServer::of(container).is_some() || pauses(container),
            Kind::Init => false,
            Kind::Sidecar | Kind::Ephemeral => true,
        };
        Arc::new(match runs {
            true => Behavior::runs().logs([line]),
            false => Behavior::exits(0).logs([line]),
        })
    }

    /// Reports whether an image has a registered behavior.
    pub(crate) fn is_registered(&self, image: &str) -> bool {
        self.registered(image).is_some()
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

/// Returns the output of `nonewprivs`, an image of Kubernetes' own tests: a program that becomes root if it may.
fn effective_user(pod: &Plan, container: &ContainerPlan) -> Option<String> {
    let name = full_name(&container.raw.image);
    untagged(&name).ends_with("/nonewprivs").then(|| {
        let user = match container.may_escalate() {
            true => 0,
            false => pod.user(container).0,
        };
        format!("Effective uid: {user}")
    })
}

/// Reports whether a container is one of `pause`, which does nothing until it is stopped.
fn pauses(container: &ContainerPlan) -> bool {
    let name = full_name(&container.raw.image);
    untagged(&name).ends_with("/pause") && container.raw.command.is_empty()
}

/// Returns the behavior of a container whose command the shell can run.
fn script(container: &ContainerPlan) -> Option<Behavior> {
    let raw = &container.raw;
    let words: Vec<&str> = raw
        .command
        .iter()
        .chain(&raw.args)
        .map(String::as_str)
        .collect();
    let is_understood = match words[..] {
        // An image with a shell runs it if clients can type.
        [] => raw.stdin && WebServer::of(container).is_none(),
        [program, ref rest @ ..] => {
            let name = program.rsplit('/').next().unwrap_or_default();
            let is_shell = matches!(name, "sh" | "bash" | "ash");
            let script = rest
                .iter()
                .position(|word| word.starts_with('-') && word.contains('c'));
            let script = script.and_then(|at| rest.get(at + 1));
            shell::has_command(program)
                && (!is_shell || script.is_none_or(|script| shell::understands(script)))
        }
    };
    is_understood.then(|| Behavior::function(run_script))
}

//! [`Inside`]: the inside of a container: files, environment, and processes.

mod cgroup;
mod environment;
mod hostname;
mod hosts;
mod image_files;
mod process;
mod terminal;
mod volumes;

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use kubewright_controller::Request;
use kubewright_informer::Key;
use kubewright_machinery::quantity::Quantity;
use parking_lot::Mutex;

use crate::{
    files::{Files, Tree, absolute},
    nodes::{Known, Shared},
    pod::plan::{ContainerPlan, Plan},
    shell::World,
};
pub(crate) use environment::expanded;
use image_files::image_files;
pub(crate) use process::{Process, run_script};
pub(crate) use terminal::terminal;
pub(crate) use volumes::{Lasting, Volumes};

/// The age at which the contents of volumes are refreshed.
const FRESH: SignedDuration = SignedDuration::from_secs(1);

/// The inside of a container.
pub(crate) struct Inside {
    pub(crate) world: Arc<World>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) directory: String,
    refreshed: Mutex<Timestamp>,
}

impl Shared {
    /// Returns the inside of a container, which is created on first use, or `None` if the container is unknown.
    pub(crate) async fn inside(&self, key: &Key, known: &Known, i: usize) -> Option<Arc<Inside>> {
        let plan = self.plan(key)?;
        let now = (self.clock())();
        let existing = known.state.lock().containers.get(i)?.inside.clone();
        if let Some(inside) = existing {
            let is_old = {
                let mut refreshed = inside.refreshed.lock();
                let is_old = now.duration_since(*refreshed) > FRESH;
                if is_old {
                    *refreshed = now;
                }
                is_old
            };
            if is_old {
                self.refresh_volumes(&plan, known, now).await;
            }
            self.show_resources(&plan, known, i, &inside, now);
            return Some(inside);
        }
        let container = plan.containers.get(i)?;
        let ip = known.state.lock().ip;
        let ip = ip.or_else(|| self.address_of(&plan.spec.node_name));
        let ip = ip.map(|ip| ip.to_string());
        let env = self
            .environment((&plan, known), container, ip.as_deref())
            .await;
        self.refresh_volumes(&plan, known, now).await;
        let mounts = self.mounts(&plan, container, &env, known);
        let own = container_files(&plan, container, ip.as_deref(), now);
        let (user, group) = plan.user(container);
        let inside = Arc::new(Inside {
            world: Arc::new(World {
                files: Files::new((own, container.has_read_only_files()), mounts, now),
                hostname: plan.kernel_hostname().into_owned(),
                ip,
                namespace: plan.namespace().to_owned(),
                user,
                group,
                groups: plan.groups(group),
                is_privileged: container.is_privileged(),
                clock: self.clock(),
                network: self.network.clone(),
                traps: Mutex::default(),
            }),
            env,
            directory: match container.raw.working_dir.as_str() {
                "" => "/".to_owned(),
                directory => directory.to_owned(),
            },
            refreshed: Mutex::new(now),
        });
        let inside = {
            // Another task may have created it in the meantime.
            let mut state = known.state.lock();
            let slot = &mut state.containers.get_mut(i)?.inside;
            slot.get_or_insert(inside).clone()
        };
        self.show_resources(&plan, known, i, &inside, now);
        // From now on the result of its probes can change.
        let request = Request::new(plan.namespace(), plan.key.name());
        if !self.wake.try_send(request.clone()) {
            let wake = self.wake.clone();
            tokio::spawn(async move { wake.send(request).await });
        }
        Some(inside)
    }
}

impl Shared {
    /// Writes the files that show the resources of a container.
    fn show_resources(
        &self,
        plan: &Plan,
        known: &Known,
        i: usize,
        inside: &Inside,
        now: Timestamp,
    ) {
        let node = self.allocatable(&plan.spec.node_name);
        let memory = node
            .get("memory")
            .and_then(|text| Quantity::parse(text).ok());
        let memory = memory.map_or(0, |memory| memory.value());
        let resources = known.state.lock().resources_of(plan, i).1.clone();
        let files = &inside.world.files;
        for (path, text) in cgroup::files(plan, &resources, memory) {
            let path = absolute("/", &path);
            let parent = &path[..path.len().saturating_sub(1)];
            // A volume at the path hides the files.
            let _ = files.create_directory(parent, true, now);
            let _ = files.write(&path, text.as_bytes(), false, now);
        }
        self.show_group(plan, now);
    }
}

/// Returns the files of a container: those of its image, and those that a kubelet adds.
fn container_files(
    plan: &Plan,
    container: &ContainerPlan,
    ip: Option<&str>,
    now: Timestamp,
) -> Tree {
    let mut tree = image_files(&container.raw.image, now);
    let own = [
        (
            "etc/hostname".to_owned(),
            format!("{}\n", plan.kernel_hostname()),
        ),
        ("etc/hosts".to_owned(), hosts::hosts(plan, ip)),
        ("etc/resolv.conf".to_owned(), hosts::resolver(plan)),
    ];
    let files = own.into_iter().chain(plan.sysctl_files());
    image_files::add(&mut tree, files, now);
    tree
}

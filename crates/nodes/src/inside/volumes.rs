//! The volumes of pods.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use parking_lot::Mutex;

use super::{expanded, image_files};
use crate::{
    files::{Entry, Mount, Tree, Volume, absolute},
    nodes::{Known, Shared},
    pod::plan::{ContainerPlan, Item, Plan, Source, TokenRef, VolumePlan},
};

/// The volumes of a pod, by name.
pub(crate) type Volumes = Arc<Mutex<BTreeMap<String, Volume>>>;

/// Volumes that outlive pods, by the name of their claim or node.
pub(crate) type Lasting = Mutex<HashMap<String, Volume>>;

impl Shared {
    /// Refreshes the volumes of a pod whose files come from objects.
    pub(crate) async fn refresh_volumes(&self, plan: &Plan, known: &Known, now: Timestamp) {
        for volume in &plan.spec.volumes {
            if !volume.shows_objects() {
                continue;
            }
            let files = self.shown(plan, volume, known).await;
            let shared = self.volume(plan, volume, known);
            let mut tree = Tree::default();
            for (path, bytes, mode) in files {
                let path = absolute("/", &path);
                let parent = &path[..path.len().saturating_sub(1)];
                // Files that do not fit, or whose path is taken, are left out.
                let _ = tree.create_all(parent, now);
                let _ = tree.put(&path, Entry::file(bytes, mode, now));
            }
            *shared.lock() = tree;
        }
    }

    /// Returns the volumes of a container with their mount points.
    pub(crate) fn mounts(
        &self,
        plan: &Plan,
        container: &ContainerPlan,
        env: &BTreeMap<String, String>,
        known: &Known,
    ) -> Vec<Mount> {
        let text = |mount: &serde_json::Value, field: &str| {
            mount[field].as_str().unwrap_or_default().to_owned()
        };
        let mounts = container.raw.volume_mounts.iter();
        mounts
            .filter_map(|mount| {
                let name = text(mount, "name");
                let volume = plan
                    .spec
                    .volumes
                    .iter()
                    .find(|volume| volume.name == name)?;
                let is_read_only =
                    mount["readOnly"] == true || volume.shows_objects() || volume.image.is_some();
                let mut below = match mount["subPathExpr"].as_str() {
                    Some(expression) => expanded(expression, env),
                    None => text(mount, "subPath"),
                };
                if let Some(host) = &volume.host_path {
                    below = format!("{}/{below}", host.path);
                }
                let shared = self.volume(plan, volume, known);
                Some(Mount::new(
                    &text(mount, "mountPath"),
                    shared,
                    &below,
                    is_read_only,
                ))
            })
            .collect()
    }

    /// Returns a volume, which is created on first use.
    fn volume(&self, plan: &Plan, volume: &VolumePlan, known: &Known) -> Volume {
        let lasting = |name: String, new: fn() -> Volume| {
            self.lasting.lock().entry(name).or_insert_with(new).clone()
        };
        if volume.host_path.is_some() {
            return self.files_of_node(&plan.spec.node_name);
        }
        if let Some(claim) = volume.claim(plan.key.name()) {
            let name = format!("claim/{}/{claim}", plan.namespace());
            return lasting(name, Volume::default);
        }
        let volumes = {
            let mut state = known.state.lock();
            state.volumes.get_or_insert_default().clone()
        };
        let mut volumes = volumes.lock();
        let new = || match (&volume.empty_dir, &volume.image) {
            (Some(_), _) => Volume::new(Mutex::new(Tree::open_to_all())),
            (None, Some(image)) => {
                let files = image_files(&image.reference, (self.clock())());
                Volume::new(Mutex::new(files))
            }
            (None, None) => Volume::default(),
        };
        volumes
            .entry(volume.name.clone())
            .or_insert_with(new)
            .clone()
    }

    /// Returns the files of a node, which volumes with a path on the node show.
    pub(super) fn files_of_node(&self, node: &str) -> Volume {
        let mut lasting = self.lasting.lock();
        let files = lasting.entry(format!("node/{node}"));
        files.or_insert_with(files_of_node).clone()
    }

    /// Returns the files of a node that a pod has used.
    pub(super) fn existing_files_of_node(&self, node: &str) -> Option<Volume> {
        self.lasting.lock().get(&format!("node/{node}")).cloned()
    }

    /// Returns the files of a volume that come from objects: paths, bytes and modes.
    async fn shown(
        &self,
        plan: &Plan,
        volume: &VolumePlan,
        known: &Known,
    ) -> Vec<(String, Vec<u8>, u32)> {
        let mut files = Vec::new();
        for (source, mode) in volume.sources() {
            let mode = mode.unwrap_or(0o644);
            match source {
                Source::ConfigMap { name, items, .. } => {
                    let data = self.data(plan.namespace(), "configmaps", name).await;
                    select(&mut files, data.unwrap_or_default(), items, mode);
                }
                Source::Secret { name, items, .. } => {
                    let data = self.data(plan.namespace(), "secrets", name).await;
                    select(&mut files, data.unwrap_or_default(), items, mode);
                }
                Source::Downward { items } => {
                    let ip = known.state.lock().ip.map(|ip| ip.to_string());
                    let host = self.address_of(&plan.spec.node_name);
                    let allocatable = self.allocatable(&plan.spec.node_name);
                    for item in items {
                        let text = match (&item.field_ref, &item.resource_field_ref) {
                            (Some(field), _) => plan.field(&field.field_path, ip.as_deref(), host),
                            (None, Some(resource)) => {
                                let mut containers = plan.containers.iter();
                                let named =
                                    containers.find(|c| c.raw.name == resource.container_name);
                                named
                                    .map(|c| plan.resource(c, resource, &allocatable))
                                    .unwrap_or_default()
                            }
                            (None, None) => continue,
                        };
                        files.push((
                            item.path.clone(),
                            text.into_bytes(),
                            item.mode.unwrap_or(mode),
                        ));
                    }
                }
                Source::Token { token, path } => {
                    if let Some(token) = self.token(plan, token).await {
                        let mode = plan.token_mode().unwrap_or(mode);
                        files.push((path.to_owned(), token.into_bytes(), mode));
                    }
                }
            }
        }
        files
    }

    /// Requests a token for the service account of a pod that is bound to the pod.
    async fn token(&self, plan: &Plan, wanted: &TokenRef) -> Option<String> {
        let client = self.network.client()?;
        let accounts: Api<ServiceAccount> = client.api(plan.namespace());
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                audiences: match wanted.audience.as_str() {
                    "" => None,
                    audience => Some(vec![audience.to_owned()]),
                },
                expiration_seconds: wanted.expiration_seconds,
                bound_object_ref: Some(BoundObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Pod".to_owned()),
                    name: Some(plan.key.name().to_owned()),
                    uid: Some(plan.uid.clone()),
                }),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let name = &plan.spec.service_account_name;
        let answer = accounts
            .create_token_request(name, &Default::default(), &request)
            .await;
        match answer {
            Ok(answer) => answer.status?.token,
            Err(error) => {
                tracing::debug!(%error, pod = %plan.key, "cannot request a service account token");
                None
            }
        }
    }
}

/// Returns the files of a new node.
fn files_of_node() -> Volume {
    let mut tree = Tree::default();
    let now = Timestamp::UNIX_EPOCH;
    // The tree is empty, so writes cannot fail.
    let _ = tree.create_all(&absolute("/", "etc"), now);
    let hosts = Entry::file(b"127.0.0.1\tlocalhost\n".to_vec(), 0o644, now);
    let _ = tree.put(&absolute("/", "etc/hosts"), hosts);
    Volume::new(Mutex::new(tree))
}

/// Adds the data of an object: all keys, or the selected items at their paths.
fn select(
    files: &mut Vec<(String, Vec<u8>, u32)>,
    mut data: BTreeMap<String, Vec<u8>>,
    items: &[Item],
    mode: u32,
) {
    if items.is_empty() {
        files.extend(data.into_iter().map(|(key, value)| (key, value, mode)));
        return;
    }
    for item in items {
        if let Some(value) = data.remove(&item.key) {
            files.push((item.path.clone(), value, item.mode.unwrap_or(mode)));
        }
    }
}

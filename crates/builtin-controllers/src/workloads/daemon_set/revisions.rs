//! The revision of a DaemonSet's template.

use kube::ResourceExt;
use kubewright_controller::{Client, Error, Result};
use kubewright_informer::Key;
use serde_json::json;

use super::nodes::REVISION;
use crate::workloads::{
    hash, history,
    objects::{ControllerRevision, Current, DaemonSet, Draft},
};

/// The revisions of a pass.
pub(super) struct Revisions {
    pub(super) hash: String,
    /// The revisions of other templates, oldest first.
    pub(super) old: Vec<ControllerRevision>,
}

/// Finds or creates the revision of the template. One with the same data is used again and gets the highest number.
pub(super) async fn revisions_of(
    client: &Client,
    current: &Current<DaemonSet>,
    known: Vec<ControllerRevision>,
) -> Result<Revisions> {
    let set = &current.object;
    let data = history::data_of(&set.spec.template);
    let (mut own, old): (Vec<_>, Vec<_>) = known.into_iter().partition(|known| known.data == data);
    let number = old.last().map_or(1, |last| last.revision + 1);
    let revision = match own.pop() {
        Some(own) if own.revision < number => history::renumber(client, &own, number).await?,
        Some(own) => own,
        None => create(client, current, number).await?,
    };
    let labels = revision.metadata.labels.as_ref();
    let hash = labels.and_then(|labels| labels.get(REVISION)).cloned();
    Ok(Revisions {
        hash: hash.unwrap_or_else(|| revision.name_any()),
        old,
    })
}

/// Creates a revision. If its name is taken by one with other data, the number of collisions is raised, and the next pass
/// tries another name.
async fn create(
    client: &Client,
    current: &Current<DaemonSet>,
    number: i64,
) -> Result<ControllerRevision> {
    let set = &current.object;
    let hash = hash::of_template(&set.spec.template.0, set.status.collision_count);
    let mut revision = history::unnamed(set, &set.spec.template, number);
    let name = format!("{}-{hash}", set.name_any());
    revision.metadata.name = Some(name.clone());
    let labels = revision.metadata.labels.get_or_insert_default();
    labels.insert(REVISION.to_owned(), hash);
    let draft = Draft::<ControllerRevision>::new(revision.metadata.clone(), json!(revision));
    match client.create(&draft).await {
        Ok(created) => {
            revision.metadata = created.metadata;
            return Ok(revision);
        }
        Err(error) if !error.is_already_exists() => return Err(error.into()),
        Err(_) => {}
    }
    let key = Key::new(set.namespace().as_deref(), &name);
    let existing: Option<ControllerRevision> = client.get_live(&key).await?;
    if let Some(existing) = existing.filter(|existing| existing.data == revision.data) {
        return Ok(existing);
    }
    let mut body = current.body.clone();
    let collisions = set.status.collision_count.unwrap_or(0).saturating_add(1);
    body["status"]["collisionCount"] = json!(collisions);
    let draft = Draft::<DaemonSet>::new(set.metadata.clone(), body);
    client.update_status(&draft).await?;
    let message = format!("found a stale collision count of {name}, and raised it");
    Err(Error::message(message).into())
}

/// Deletes the oldest revisions beyond the limit that no pod has.
pub(super) async fn truncate(
    client: &Client,
    set: &DaemonSet,
    old: &[ControllerRevision],
    used: &[String],
) -> Result<()> {
    let is_used = |revision: &&ControllerRevision| {
        let labels = revision.metadata.labels.as_ref();
        let hash = labels.and_then(|labels| labels.get(REVISION));
        hash.is_some_and(|hash| used.contains(hash))
    };
    let live: Vec<String> = old
        .iter()
        .filter(is_used)
        .map(ResourceExt::name_any)
        .collect();
    let kept = i32::try_from(live.len()).unwrap_or(i32::MAX);
    let limit = set.spec.revision_history_limit.unwrap_or(10);
    let limit = limit.saturating_sub(kept).max(0);
    history::truncate(
        client,
        old,
        |name| live.iter().any(|l| l == name),
        Some(limit),
    )
    .await
}

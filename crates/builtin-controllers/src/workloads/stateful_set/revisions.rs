//! The current and the new revision of a StatefulSet's template.

use kube::ResourceExt;
use kubewright_controller::{Client, Result};

use crate::workloads::{
    history,
    objects::{ControllerRevision, StatefulSet},
};

/// The revisions of a pass.
pub(super) struct Revisions {
    pub(super) current: ControllerRevision,
    pub(super) update: ControllerRevision,
    pub(super) collisions: i32,
}

/// Finds or creates the revision of the template. One with the same data is used again and gets the highest number.
pub(super) async fn revisions_of(
    client: &Client,
    set: &StatefulSet,
    known: &[ControllerRevision],
) -> Result<Revisions> {
    let mut collisions = set.status.collision_count.unwrap_or(0);
    let number = known.last().map_or(1, |last| last.revision + 1);
    let template = &set.spec.template;
    let proposed = history::new_revision(set, template, number, collisions);
    let equal = known.iter().rev().find(|known| known.data == proposed.data);
    let update = match (equal, known.last()) {
        (Some(equal), Some(last)) if equal.data == last.data => last.clone(),
        (Some(equal), _) => history::renumber(client, equal, number).await?,
        (None, Some(last)) if history::template_of(last).equals(template) => last.clone(),
        (None, _) => history::create(client, set, proposed, &mut collisions).await?,
    };
    let current = known
        .iter()
        .find(|known| known.name_any() == set.status.current_revision);
    Ok(Revisions {
        current: current.cloned().unwrap_or_else(|| update.clone()),
        update,
        collisions,
    })
}

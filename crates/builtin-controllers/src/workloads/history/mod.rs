//! The history of a workload's templates: ControllerRevisions.

use std::cmp::Ordering;

use kube::{Api, ResourceExt, api::DeleteParams};
use kubewright_client::ErrorExt;
use kubewright_controller::{Client, Object, Result, owner::controller_of};
use kubewright_informer::Key;
use kubewright_machinery::{go, labels::LabelSelector};
use serde_json::{Value, json};

use crate::workloads::{
    hash,
    objects::{ControllerRevision, Current, Draft, Template, controller_reference},
    pods::{Claims, owned_and_orphans},
};

/// The label with the hash of a revision.
pub(crate) const HASH: &str = "controller.kubernetes.io/hash";

/// The maximum length of the owner's name in that of a revision.
const PREFIX: usize = 223;

/// Returns the revisions of an owner, oldest first. Those that match its selector and have no controller are adopted.
pub(crate) async fn list<O: Object>(
    client: &Client,
    owner: &O,
    selector: &LabelSelector,
) -> Result<Vec<ControllerRevision>> {
    let stored = owned_and_orphans::<O, ControllerRevision>(client, owner).await?;
    let mut revisions = Vec::with_capacity(stored.len());
    for object in stored {
        let revision: std::sync::Arc<ControllerRevision> = object.decode()?;
        let labels = revision.metadata.labels.as_ref();
        if selector.matches(|name| labels.and_then(|l| l.get(name)).map(String::as_str)) {
            revisions.push(revision);
        }
    }
    let orphans = revisions
        .iter()
        .any(|revision| controller_of(&**revision).is_none());
    if orphans && owner.meta().deletion_timestamp.is_none() {
        revisions = Claims::new(client, owner)
            .claim(revisions, |_| true)
            .await?;
    }
    let mut revisions: Vec<ControllerRevision> = revisions
        .into_iter()
        .map(std::sync::Arc::unwrap_or_clone)
        .collect();
    revisions.sort_by(by_age);
    Ok(revisions)
}

fn by_age(a: &ControllerRevision, b: &ControllerRevision) -> Ordering {
    let key = |revision: &ControllerRevision| {
        let created = revision.metadata.creation_timestamp.as_ref().map(|at| at.0);
        (revision.revision, created, revision.metadata.name.clone())
    };
    key(a).cmp(&key(b))
}

/// Returns the data of a revision: a patch that replaces the template.
pub(crate) fn data_of(template: &Template) -> Value {
    let mut template = template.0.clone();
    template["$patch"] = json!("replace");
    json!({"spec": {"template": template}})
}

/// Returns the template of a revision.
pub(crate) fn template_of(revision: &ControllerRevision) -> Template {
    let mut template = revision.data["spec"]["template"].clone();
    if let Some(template) = template.as_object_mut() {
        template.remove("$patch");
    }
    Template(template)
}

/// Returns a revision of an owner's template, which has no name yet.
pub(crate) fn new_revision<O: Object>(
    owner: &O,
    template: &Template,
    revision: i64,
    collisions: i32,
) -> ControllerRevision {
    let data = data_of(template);
    let hash = hash::of_revision(text_of(&data).as_bytes(), collisions);
    let mut new = unnamed(owner, template, revision);
    let labels = new.metadata.labels.get_or_insert_default();
    labels.insert(HASH.to_owned(), hash);
    new
}

/// Returns a revision of an owner's template, without a name and the label of its hash.
pub(crate) fn unnamed<O: Object>(
    owner: &O,
    template: &Template,
    revision: i64,
) -> ControllerRevision {
    let mut new = ControllerRevision {
        data: data_of(template),
        revision,
        ..ControllerRevision::default()
    };
    new.metadata.namespace = owner.namespace();
    new.metadata.labels = Some(template.labels());
    new.metadata.annotations = Some(owner.annotations().clone());
    new.metadata.owner_references = Some(vec![controller_reference(owner)]);
    new
}

/// Creates a revision. If its name is taken by one with other data, the number of collisions is raised until one is free.
pub(crate) async fn create<O: Object>(
    client: &Client,
    owner: &O,
    mut revision: ControllerRevision,
    collisions: &mut i32,
) -> Result<ControllerRevision> {
    let bytes = text_of(&revision.data);
    loop {
        let hash = hash::of_revision(bytes.as_bytes(), *collisions);
        let name = name_of(&owner.name_any(), &hash);
        revision.metadata.name = Some(name.clone());
        let draft = Draft::<ControllerRevision>::new(revision.metadata.clone(), json!(revision));
        match client.create(&draft).await {
            Ok(created) => {
                revision.metadata = created.metadata;
                return Ok(revision);
            }
            Err(error) if error.is_already_exists() => {
                let key = Key::new(owner.namespace().as_deref(), &name);
                let existing: Option<ControllerRevision> = client.get_live(&key).await?;
                match existing {
                    Some(existing) if existing.data == revision.data => return Ok(existing),
                    // Gone again: the name is free.
                    None => {}
                    Some(_) => *collisions += 1,
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the text of a revision's data: as Go prints it, with sorted keys.
fn text_of(data: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_unstable_by_key(|(key, _)| key.as_str());
                let fields = fields.into_iter();
                fields
                    .map(|(key, value)| (key.clone(), sorted(value)))
                    .collect()
            }
            Value::Array(items) => items.iter().map(sorted).collect(),
            value => value.clone(),
        }
    }
    go::json(&sorted(data))
}

fn name_of(owner: &str, hash: &str) -> String {
    format!("{}-{hash}", owner.get(..PREFIX).unwrap_or(owner))
}

/// Gives a revision that is used again the highest number.
pub(crate) async fn renumber(
    client: &Client,
    revision: &ControllerRevision,
    number: i64,
) -> Result<ControllerRevision> {
    let cache = client.informer::<ControllerRevision>();
    let namespace = revision.namespace().unwrap_or_default();
    let key = format!("{namespace}/{}", revision.name_any());
    let mut renumbered = revision.clone();
    renumbered.revision = number;
    if let Some(stored) = cache.indexer().get(&key) {
        let Current { object, mut body } = Current::<ControllerRevision>::of(&stored)?;
        body["revision"] = json!(number);
        let draft = Draft::<ControllerRevision>::new(object.metadata, body);
        renumbered.metadata = client.update(&draft).await?.metadata;
    }
    Ok(renumbered)
}

/// Deletes the oldest of revisions that nothing uses, beyond the limit.
pub(crate) async fn truncate(
    client: &Client,
    revisions: &[ControllerRevision],
    is_live: impl Fn(&str) -> bool,
    limit: Option<i32>,
) -> Result<()> {
    let unused: Vec<&ControllerRevision> = revisions
        .iter()
        .filter(|revision| !is_live(&revision.name_any()))
        .collect();
    let Ok(limit) = usize::try_from(limit.unwrap_or(10)) else {
        return Ok(());
    };
    let surplus = unused.len().saturating_sub(limit);
    for revision in unused.into_iter().take(surplus) {
        let namespace = revision.namespace().unwrap_or_default();
        let revisions: Api<ControllerRevision> = client.api(&namespace);
        let params = DeleteParams::default();
        match revisions.delete(&revision.name_any(), &params).await {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

//! The default among classes: the newest that an annotation marks; of equally new ones the first by name.

use std::{cmp::Reverse, collections::BTreeMap};

use kubewright_machinery::Status;
use serde::Deserialize;

use super::stored::Stored;

/// Returns the name of the default class of a collection, which one of these annotations marks.
pub(super) async fn find(
    store: &Stored,
    collection: &str,
    marks: &[&str],
) -> Result<Option<String>, Status> {
    let classes: Vec<Class> = store.list(collection, String::new()).await?;
    let marked = classes
        .into_iter()
        .map(|class| class.metadata)
        .filter(|metadata| {
            marks.iter().any(|mark| {
                metadata
                    .annotations
                    .get(*mark)
                    .is_some_and(|value| value == "true")
            })
        });
    // Timestamps in UTC sort as text.
    let newest = marked.min_by_key(|m| (Reverse(m.creation_timestamp.clone()), m.name.clone()));
    Ok(newest.map(|metadata| metadata.name))
}

#[derive(Deserialize)]
struct Class {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    #[serde(default)]
    creation_timestamp: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

//! `list`: the resourceVersion semantics, chunks, and selection by summaries.
//!
//! A list without a limit is read page by page from one snapshot while it is sent, so that its memory is bounded.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use kubewright_derive::boxed_async;
use kubewright_machinery::{Status, fields::FieldSelector, labels::LabelSelector, status};
use kubewright_store::{Revision, Snapshot};

use super::{Generic, batch::Batches, continue_token::ContinueToken, read::parse_revision};
use crate::{
    object::{Object, Summary},
    registry::{
        ResourceSpec,
        items::{Items, ObjectList, PageStream, Pages},
        traits::List,
    },
    request::{ListOptions, RequestContext, options::Match},
};

/// The number of entries that are read from the snapshot at once.
const PAGE: usize = 512;

/// The bytes of converted objects after which a chunk ends, with fewer objects than its limit. Objects that are served as they
/// are stored are not counted: they share the store's bytes.
const CHUNK_BYTES: usize = 16 << 20;

const TOKEN_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// The selectors of a list or a watch.
#[derive(Clone)]
pub(super) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    spec: Arc<ResourceSpec>,
}

impl Selection {
    pub(super) fn matches(&self, summary: &Summary) -> bool {
        self.labels.matches(|key| summary.label(key))
            && self.fields.matches(|field| match field {
                "metadata.name" => Some((&*summary.name).into()),
                "metadata.namespace" => Some((&*summary.namespace).into()),
                field => {
                    let i = self.spec.selectable.position(field)?;
                    summary.fields.get(i).map(|v| (&**v).into())
                }
            })
    }

    pub(super) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}

/// The start of a list and the state that it shows.
struct Place {
    snapshot: Arc<dyn Snapshot>,
    start: String,
    /// The revision of the next token; `None` if the list continues at the newest state.
    token_revision: Option<u64>,
}

#[boxed_async]
impl List for Generic {
    async fn list(&self, cx: &RequestContext, options: &ListOptions) -> Result<ObjectList, Status> {
        let selection = self.selection(options);
        let prefix = self.prefix(cx.namespace(), options);
        let place = self.place(&prefix, options).await?;
        let resource_version = place.snapshot.revision().0.to_string();
        // Any state will do; the whole list is as cheap as a part of it.
        let any = options.resource_version == "0" && options.continue_token.is_empty();
        let limit = if any { 0 } else { options.limit };
        if limit > 0 {
            let chunk = self.chunk(place, prefix, &selection, limit).await;
            return chunk.map_err(|e| expired_token(e, &options.continue_token));
        }
        let mut reader = Reader {
            batches: Batches::new(place.snapshot, prefix, place.start, PAGE),
            generic: self.clone(),
            selection,
        };
        let head = reader.next().await?.unwrap_or_default();
        let items = match reader.batches.remaining() {
            0 => Items::All(head),
            _ => Items::Pages(Box::new(ListPages { head, rest: reader })),
        };
        Ok(ObjectList {
            resource_version,
            continue_token: String::new(),
            remaining: None,
            items,
        })
    }
}

/// A list that is read while it is sent.
struct ListPages {
    /// The objects of the first page.
    head: Vec<Object>,
    rest: Reader,
}

impl Pages for ListPages {
    fn read(&self) -> PageStream {
        let rest = stream::unfold(Some(self.rest.clone()), |reader| async move {
            let mut reader = reader?;
            match reader.next().await {
                Ok(objects) => Some((Ok(objects?), Some(reader))),
                Err(e) => Some((Err(e), None)),
            }
        });
        Box::pin(stream::iter([Ok(self.head.clone())]).chain(rest))
    }
}

#[derive(Clone)]
struct Reader {
    generic: Generic,
    batches: Batches,
    selection: Selection,
}

impl Reader {
    /// Returns the selected objects of the next batch, or `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<Object>>, Status> {
        let batch = self.batches.next(&self.generic).await?;
        if batch.is_empty() {
            return Ok(None);
        }
        let objects = batch.into_iter().map(|(_, object)| object);
        Ok(Some(match self.selection.is_everything() {
            true => objects.collect(),
            false => objects
                .filter(|object| self.selection.matches(&object.summary))
                .collect(),
        }))
    }
}

impl Generic {
    /// Returns whether an object of this registry matches the selectors of a list or a watch.
    pub fn selects(&self, options: &ListOptions, object: &Object) -> bool {
        self.selection(options).matches(&object.summary)
    }

    pub(super) fn selection(&self, options: &ListOptions) -> Selection {
        Selection {
            labels: options.labels.clone(),
            fields: options.fields.clone(),
            spec: self.spec.clone(),
        }
    }

    /// Returns the paths to read: those of the namespace, or of the namespace that a field selector names.
    pub(super) fn prefix(&self, namespace: &str, options: &ListOptions) -> String {
        if !self.spec.namespaced {
            return String::new();
        }
        let namespace = if namespace.is_empty() {
            options
                .fields
                .required_value("metadata.namespace")
                .unwrap_or_default()
        } else {
            namespace
        };
        let plain = !namespace.is_empty() && !namespace.contains('/');
        if plain {
            format!("{namespace}/")
        } else {
            String::new()
        }
    }

    async fn place(&self, prefix: &str, options: &ListOptions) -> Result<Place, Status> {
        if !options.continue_token.is_empty() {
            return self.resume(prefix, options).await;
        }
        let bad = |text: String| status::bad_request(format!("invalid resource version: {text}"));
        let wanted = parse_revision(&options.resource_version).map_err(bad)?;
        let exact = match options.resource_version_match {
            Some(Match::Exact) => true,
            Some(Match::NotOlderThan) => false,
            // With a limit and without a match, a revision means exactly that one.
            None => options.limit > 0 && wanted.is_some(),
        };
        if let Some(wanted) = wanted.filter(|_| !exact) {
            self.wait_until(wanted).await?;
        }
        let snapshot = self.snapshot(wanted.filter(|_| exact)).await?;
        let token_revision = Some(snapshot.revision().0);
        Ok(Place {
            snapshot,
            start: String::new(),
            token_revision,
        })
    }

    async fn resume(&self, prefix: &str, options: &ListOptions) -> Result<Place, Status> {
        let token = ContinueToken::decode(&options.continue_token)?;
        if !matches!(options.resource_version.as_str(), "" | "0") {
            return Err(status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let start = format!("{prefix}{}", token.start);
        let Some(revision) = token.revision else {
            let snapshot = self.snapshot(None).await?;
            let token_revision = Some(snapshot.revision().0);
            return Ok(Place {
                snapshot,
                start,
                token_revision,
            });
        };
        match self.snapshot(Some(Revision(revision))).await {
            Ok(snapshot) => Ok(Place {
                snapshot,
                start,
                token_revision: Some(revision),
            }),
            Err(e) => Err(expired_token(e, &options.continue_token)),
        }
    }

    /// Reads at most `limit` objects, and a token for the next chunk.
    async fn chunk(
        &self,
        place: Place,
        prefix: String,
        selection: &Selection,
        limit: usize,
    ) -> Result<ObjectList, Status> {
        let page = PAGE.min(limit.max(1));
        let mut batches = Batches::new(place.snapshot, prefix.clone(), place.start, page);
        let mut objects = Vec::new();
        let mut after: Option<(String, u64)> = None;
        let mut bytes = 0;
        'chunk: loop {
            let mut batch = batches.next(self).await?.into_iter();
            let mut last = None;
            while let Some((entry, object)) = batch.next() {
                if selection.is_everything() || selection.matches(&object.summary) {
                    if object.bytes.as_ptr() != entry.bytes.as_ptr() {
                        bytes += object.bytes.len();
                    }
                    objects.push(object);
                }
                let left = batches.remaining() + batch.len() as u64;
                if objects.len() == limit || bytes >= CHUNK_BYTES {
                    after = (left > 0).then(|| (entry.path.to_string(), left));
                    break 'chunk;
                }
                last = Some(entry.path);
            }
            if last.is_none() {
                break;
            }
            // Other requests get their turn.
            tokio::task::coop::consume_budget().await;
        }
        let (continue_token, remaining) = match after {
            None => (String::new(), None),
            Some((path, left)) => {
                let relative = path.strip_prefix(&prefix).unwrap_or(&path);
                let token = ContinueToken {
                    revision: place.token_revision,
                    start: format!("/{relative}\0"),
                };
                (token.encode(), selection.is_everything().then_some(left))
            }
        };
        Ok(ObjectList {
            resource_version: batches.snapshot().revision().0.to_string(),
            continue_token,
            remaining,
            items: Items::All(objects),
        })
    }
}

/// Returns the error for a token whose revision was compacted, with a token to continue at the newest state.
fn expired_token(error: Status, token: &str) -> Status {
    match ContinueToken::decode(token) {
        Ok(token) if error.code == 410 => {
            let mut error = status::expired(TOKEN_EXPIRED);
            error.metadata.continue_ = ContinueToken {
                revision: None,
                ..token
            }
            .encode();
            error
        }
        _ => error,
    }
}

//! The rows of a resource: a list, followed by a watch.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::BytesMut;
use futures_util::StreamExt;
use kubewright_client::stream::{EventType, OpenError, WatchDecoder, open, open_watch};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    feed::Feed,
    subscription::Table,
    window::{Row, Rows},
};

/// The media type of rows that the server prints, as kubectl requests them.
const AS_TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// The number of rows of a page.
const PAGE: usize = 5_000;

/// The maximum size of a page, in bytes.
const LARGEST_PAGE: usize = 64 << 20;

/// The maximum number of rows that are kept.
const MOST: usize = 500_000;

/// The pauses after consecutive failures.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(15),
];

/// The objects that a table shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source {
    path: String,
    selectors: String,
    at: Option<u64>,
}

/// The rows of a table.
#[derive(Debug, Default)]
pub(crate) struct TableState {
    pub(crate) columns: Arc<Vec<Value>>,
    pub(crate) rows: Rows,
    /// The revision of the rows.
    pub(crate) revision: String,
    /// Whether the first list is complete.
    pub(crate) is_synced: bool,
    /// The status code and the message of the current failure.
    pub(crate) error: Option<(u16, String)>,
}

/// A `Table` of `meta.k8s.io/v1`, or the `Status` at the end of a watch.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Printed {
    metadata: ListMeta,
    column_definitions: Option<Vec<Value>>,
    rows: Vec<PrintedRow>,
    code: u16,
    message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMeta {
    resource_version: String,
    #[serde(rename = "continue")]
    next: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PrintedRow {
    cells: Vec<Value>,
    object: PrintedObject,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PrintedObject {
    metadata: ObjectMeta,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectMeta {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
}

/// The reason why a watch ended.
enum Ended {
    /// The watch can be resumed at the revision.
    Watch,
    /// The rows must be listed again.
    Relist,
    Failed(u16, String),
}

impl Source {
    pub(crate) fn of(table: &Table) -> Self {
        let mut selectors = String::new();
        for (name, selector) in [
            ("labelSelector", &table.label_selector),
            ("fieldSelector", &table.field_selector),
        ] {
            if !selector.is_empty() {
                selectors += &format!(
                    "&{name}={}",
                    utf8_percent_encode(selector, NON_ALPHANUMERIC)
                );
            }
        }
        Self {
            path: table.path.clone(),
            selectors,
            at: table.at,
        }
    }
}

/// Keeps the rows up to date until no tab uses them. Rows of a past revision are listed once.
pub(crate) async fn keep(client: kube::Client, source: Source, feed: Weak<Feed<TableState>>) {
    let mut failures = 0;
    loop {
        let mut ended = list(&client, &source, &feed).await;
        while let Ended::Watch = ended {
            failures = 0;
            if source.at.is_some() {
                return;
            }
            let began = Instant::now();
            ended = watch(&client, &source, &feed).await;
            // If a server ends watches immediately, they are not retried in a tight loop.
            if began.elapsed() < PAUSES[1] {
                tokio::time::sleep(PAUSES[0]).await;
            }
        }
        if let Ended::Failed(code, message) = ended {
            let Some(feed) = feed.upgrade() else { return };
            feed.change(|state| state.error = Some((code, message)));
            failures += 1;
        }
        let pause = PAUSES.get(failures).or(PAUSES.last());
        tokio::time::sleep(pause.copied().unwrap_or_default()).await;
    }
}

/// Lists the rows, page by page, and replaces the old ones when the list is complete.
async fn list(client: &kube::Client, source: &Source, feed: &Weak<Feed<TableState>>) -> Ended {
    let (mut rows, mut next, mut columns) = (Rows::new(), String::new(), None);
    let exact = match source.at {
        Some(at) => format!("&resourceVersion={at}&resourceVersionMatch=Exact"),
        None => String::new(),
    };
    loop {
        let mut path = format!("{}?limit={PAGE}{}", source.path, source.selectors);
        match next.is_empty() {
            true => path += &exact,
            false => path += &format!("&continue={}", utf8_percent_encode(&next, NON_ALPHANUMERIC)),
        }
        let page = match page(client, &path).await {
            Ok(page) => page,
            Err(ended) => return ended,
        };
        columns = columns.or(page.column_definitions);
        for row in page.rows {
            insert(&mut rows, row);
        }
        if rows.len() > MOST {
            let message =
                format!("there are more than {MOST} objects: choose a namespace or a selector");
            return Ended::Failed(413, message);
        }
        next = page.metadata.next;
        if next.is_empty() {
            let Some(feed) = feed.upgrade() else {
                return Ended::Relist;
            };
            feed.change(|state| {
                state.columns = Arc::new(columns.unwrap_or_default());
                state.rows = rows;
                state.revision = page.metadata.resource_version;
                state.is_synced = true;
                state.error = None;
            });
            return Ended::Watch;
        }
    }
}

/// Reads the first rows of a resource once, with their columns. Returns `None` if it cannot be listed.
pub(crate) async fn read_table(
    client: &kube::Client,
    path: &str,
    most: usize,
) -> Option<(Vec<Value>, Rows)> {
    let page = page(client, &format!("{path}?limit={most}")).await.ok()?;
    let mut rows = Rows::new();
    page.rows.into_iter().for_each(|row| insert(&mut rows, row));
    Some((page.column_definitions.unwrap_or_default(), rows))
}

async fn page(client: &kube::Client, path: &str) -> Result<Printed, Ended> {
    let mut chunks = open(client, path, AS_TABLE)
        .await
        .map_err(|e| refused(&e))?;
    let mut body = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|e| Ended::Failed(502, e.to_string()))?;
        if body.len() + chunk.len() > LARGEST_PAGE {
            let message = format!("{PAGE} rows are more than {LARGEST_PAGE} bytes");
            return Err(Ended::Failed(413, message));
        }
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&body).map_err(|e| Ended::Failed(502, e.to_string()))
}

fn refused(error: &OpenError) -> Ended {
    match error.status() {
        Some(status) => Ended::Failed(status.code, status.message.clone()),
        None => Ended::Failed(502, error.to_string()),
    }
}

/// Follows changes from the revision of the rows.
async fn watch(client: &kube::Client, source: &Source, feed: &Weak<Feed<TableState>>) -> Ended {
    let Some(revision) = feed
        .upgrade()
        .map(|feed| feed.look(|state| state.revision.clone()))
    else {
        return Ended::Relist;
    };
    let path = format!(
        "{}?watch=true&allowWatchBookmarks=true&resourceVersion={revision}{}",
        source.path, source.selectors
    );
    let mut chunks = match open_watch(client, &path, AS_TABLE).await {
        Ok(chunks) => chunks,
        Err(error) if error.status().is_some_and(|it| it.code == 410) => return Ended::Relist,
        Err(error) => return refused(&error),
    };
    let mut decoder = WatchDecoder::default();
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(chunk) => decoder.push(chunk),
            Err(error) => return Ended::Failed(502, error.to_string()),
        }
        let mut events = Vec::new();
        loop {
            match decoder.next() {
                Ok(Some(frame)) => match serde_json::from_slice::<Printed>(&frame.object) {
                    Ok(printed) => events.push((frame.event, printed)),
                    Err(error) => return Ended::Failed(502, error.to_string()),
                },
                Ok(None) => break,
                Err(error) => return Ended::Failed(502, error.to_string()),
            }
        }
        let Some(feed) = feed.upgrade() else {
            return Ended::Relist;
        };
        if let Some(ended) = apply(&feed, events) {
            return ended;
        }
    }
    Ended::Watch
}

/// Applies a batch of events, so that tabs are notified once.
fn apply(feed: &Feed<TableState>, events: Vec<(EventType, Printed)>) -> Option<Ended> {
    let mut ended = None;
    feed.change(|state| {
        for (event, printed) in events {
            if event == EventType::Error {
                ended = Some(match printed.code {
                    410 => Ended::Relist,
                    code => Ended::Failed(code, printed.message),
                });
                return;
            }
            if !printed.metadata.resource_version.is_empty() {
                state.revision = printed.metadata.resource_version;
            }
            for row in printed.rows {
                if !row.object.metadata.resource_version.is_empty() {
                    state
                        .revision
                        .clone_from(&row.object.metadata.resource_version);
                }
                match event {
                    EventType::Deleted => {
                        let metadata = row.object.metadata;
                        state.rows.remove(&(metadata.namespace, metadata.name));
                    }
                    EventType::Bookmark => {}
                    _ => insert(&mut state.rows, row),
                }
            }
            if state.rows.len() > MOST {
                ended = Some(Ended::Relist);
                return;
            }
        }
        state.error = None;
    });
    ended
}

fn insert(rows: &mut Rows, printed: PrintedRow) {
    let metadata = printed.object.metadata;
    let key = match metadata.namespace.is_empty() {
        true => metadata.name.clone(),
        false => format!("{}/{}", metadata.namespace, metadata.name),
    };
    let place = (metadata.namespace.clone(), metadata.name.clone());
    let row = Row {
        key,
        namespace: metadata.namespace,
        name: metadata.name,
        uid: metadata.uid,
        version: metadata.resource_version,
        created: metadata.creation_timestamp.unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
        cells: printed.cells,
    };
    rows.insert(place, Arc::new(row));
}

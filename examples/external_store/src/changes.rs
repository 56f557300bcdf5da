//! The log of changes, which the triggers of the database keep, as watches.

use std::{collections::VecDeque, time::Duration};

use futures_util::stream;
use kubewright::{
    extension_apiserver::{Change, ChangeKind, Changes},
    machinery::{Status, status},
};
use rusqlite::Connection;
use serde::Deserialize;
use tokio::sync::watch;

use crate::{
    Book, BookSpec,
    books::{Books, failed, made},
};

/// The time after which changes of other programs are noticed.
const INTERVAL: Duration = Duration::from_millis(200);
/// The number of changes that are read at once.
const BATCH: i64 = 100;

/// A row, as the triggers write it.
#[derive(Deserialize)]
struct Logged {
    id: i64,
    namespace: String,
    name: String,
    title: String,
    author: String,
    copies: i64,
    metadata: String,
    #[serde(default)]
    version: i64,
}

impl Logged {
    fn into_book(self, version: i64) -> Book {
        let spec = BookSpec {
            title: self.title,
            author: self.author,
            copies: self.copies,
        };
        made(
            self.id,
            self.namespace,
            self.name,
            spec,
            &self.metadata,
            version,
        )
    }
}

/// Returns the version of the data.
pub(crate) fn version(connection: &Connection) -> Result<u64, Status> {
    let query = "SELECT seq FROM sqlite_sequence WHERE name = 'changes'";
    let version: i64 = connection
        .query_row(query, [], |row| row.get(0))
        .map_err(failed)?;
    u64::try_from(version).map_err(status::internal)
}

/// Reads the next changes.
///
/// # Errors
///
/// Fails with 410 if some of them are no longer in the log.
fn after(connection: &mut Connection, last: i64) -> Result<Vec<(i64, Change<Book>)>, Status> {
    let transaction = connection.transaction().map_err(failed)?;
    let oldest = "SELECT min(version) FROM changes";
    let oldest: Option<i64> = transaction
        .query_row(oldest, [], |row| row.get(0))
        .map_err(failed)?;
    let current = i64::try_from(version(&transaction)?).map_err(status::internal)?;
    let floor = oldest.map_or(current, |oldest| oldest - 1);
    if last < floor {
        return Err(status::expired(format!(
            "too old resource version: {last} ({floor})"
        )));
    }
    let query = "SELECT version, kind, object, previous FROM changes WHERE version > ?1 ORDER BY version LIMIT ?2";
    let mut statement = transaction.prepare(query).map_err(failed)?;
    let rows = statement.query_map([last, BATCH], |row| {
        let texts = (row.get::<_, String>(1)?, row.get::<_, String>(2)?);
        Ok((
            row.get::<_, i64>(0)?,
            texts,
            row.get::<_, Option<String>>(3)?,
        ))
    });
    let mut changes = Vec::new();
    for row in rows.map_err(failed)? {
        let (version, (kind, object), previous) = row.map_err(failed)?;
        let read = |text: &str| serde_json::from_str::<Logged>(text).map_err(status::internal);
        let previous = previous.as_deref().map(read).transpose()?;
        let change = Change {
            kind: match kind.as_str() {
                "created" => ChangeKind::Created,
                "updated" => ChangeKind::Updated,
                _ => ChangeKind::Deleted,
            },
            object: read(&object)?.into_book(version),
            previous: previous.map(|row| {
                let version = row.version;
                row.into_book(version)
            }),
        };
        changes.push((version, change));
    }
    Ok(changes)
}

/// A watch.
struct Follower {
    books: Books,
    writes: watch::Receiver<()>,
    last: i64,
    read: VecDeque<(i64, Change<Book>)>,
}

impl Follower {
    async fn next(&mut self) -> Result<Change<Book>, Status> {
        loop {
            if let Some((version, change)) = self.read.pop_front() {
                self.last = version;
                return Ok(change);
            }
            // Mark writes as seen before the log is read, so that no later one is missed.
            self.writes.borrow_and_update();
            let last = self.last;
            self.read = self.books.with(move |c| after(c, last)).await?.into();
            if self.read.is_empty() {
                // Another program may write without a word.
                let woken = self.writes.changed();
                let _ = tokio::time::timeout(INTERVAL, woken).await;
            }
        }
    }
}

/// Returns the changes after a version.
///
/// # Errors
///
/// Fails with 410 if some of them are no longer in the log.
pub(crate) async fn follow(books: Books, version: u64) -> Result<Changes<Book>, Status> {
    let last = i64::try_from(version).map_err(status::internal)?;
    let writes = books.writes();
    let read = books
        .with(move |connection| after(connection, last))
        .await?;
    let follower = Follower {
        books,
        writes,
        last,
        read: read.into(),
    };
    Ok(Box::pin(stream::unfold(Some(follower), |follower| async {
        let mut follower = follower?;
        match follower.next().await {
            Ok(change) => Some((Ok(change), Some(follower))),
            Err(error) => Some((Err(error), None)),
        }
    })))
}

//! [`Books`]: the table as the storage of a kind.

use std::{path::PathBuf, sync::Arc};

use kube::{Resource, ResourceExt, core::ObjectMeta};
use kubewright::{
    extension_apiserver::{Changes, ListQuery, Listing, Storage, Verbs, async_trait},
    machinery::{Status, gvk::GroupResource, status},
};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tokio::sync::watch;

use crate::{Book, BookSpec, changes};

/// The table of the books. The rest keeps a log of its changes, whoever makes them.
const SCHEMA: &str = include_str!("schema.sql");

/// The columns of a book, in the order that [`book`] reads them.
const COLUMNS: &str = "rowid, namespace, name, title, author, copies, metadata, version";

/// The books of a database. Clones share it.
#[derive(Clone)]
pub(crate) struct Books {
    path: PathBuf,
    /// The connection, once it is needed.
    connection: Arc<Mutex<Option<Connection>>>,
    /// Wakes watches after a write of this program.
    written: watch::Sender<()>,
}

impl Books {
    /// Returns the books of a database, which is opened by the first request.
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            connection: Arc::default(),
            written: watch::Sender::new(()),
        }
    }

    /// Returns a receiver that is marked by each write of this program.
    pub(crate) fn writes(&self) -> watch::Receiver<()> {
        self.written.subscribe()
    }

    /// Uses the database on a thread that may block.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let books = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut connection = books.connection.lock();
            if connection.is_none() {
                let opened = Connection::open(&books.path).map_err(failed)?;
                // Another program may be writing.
                let patience = std::time::Duration::from_secs(5);
                opened.busy_timeout(patience).map_err(failed)?;
                opened.execute_batch(SCHEMA).map_err(failed)?;
                *connection = Some(opened);
            }
            match &mut *connection {
                Some(connection) => work(connection),
                None => Err(status::internal("the database is not open")),
            }
        });
        done.await.map_err(status::internal)?
    }

    /// Does the same, and wakes watches.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let done = self.with(work).await;
        self.written.send_replace(());
        done
    }
}

/// Returns a failure of the database as an error of the API.
pub(crate) fn failed(error: rusqlite::Error) -> Status {
    status::internal(format!("the database failed: {error}"))
}

fn resource() -> GroupResource {
    GroupResource::new(Book::group(&()), Book::plural(&()))
}

/// Reads a book from a row.
fn book(row: &Row<'_>) -> rusqlite::Result<Book> {
    let spec = BookSpec {
        title: row.get(3)?,
        author: row.get(4)?,
        copies: row.get(5)?,
    };
    let (id, metadata, version) = (row.get(0)?, row.get::<_, String>(6)?, row.get(7)?);
    Ok(made(id, row.get(1)?, row.get(2)?, spec, &metadata, version))
}

/// Makes an object of the parts of a row.
pub(crate) fn made(
    id: i64,
    namespace: String,
    name: String,
    spec: BookSpec,
    metadata: &str,
    version: i64,
) -> Book {
    // Rows of other programs have no metadata, or whatever was written there by hand.
    let metadata: ObjectMeta = serde_json::from_str(metadata).unwrap_or_default();
    let uid = metadata.uid.clone();
    let metadata = ObjectMeta {
        name: Some(name),
        namespace: Some(namespace),
        resource_version: Some(version.to_string()),
        uid: uid.or_else(|| Some(format!("00000000-0000-4000-8000-{id:012x}"))),
        ..metadata
    };
    Book { metadata, spec }
}

/// Returns the metadata that have no column.
fn metadata(book: &Book) -> Result<String, Status> {
    let metadata = ObjectMeta {
        name: None,
        namespace: None,
        resource_version: None,
        ..book.metadata.clone()
    };
    serde_json::to_string(&metadata).map_err(status::internal)
}

fn find(connection: &Connection, namespace: &str, name: &str) -> Result<Option<Book>, Status> {
    let query = format!("SELECT {COLUMNS} FROM books WHERE namespace = ?1 AND name = ?2");
    let found = connection.query_row(&query, params![namespace, name], book);
    found.optional().map_err(failed)
}

/// Returns a book that was just written.
fn written(connection: &Connection, book: &Book) -> Result<Book, Status> {
    let (namespace, name) = (book.namespace().unwrap_or_default(), book.name_any());
    let found = find(connection, &namespace, &name)?;
    found.ok_or_else(|| status::not_found(&resource(), &name))
}

#[async_trait]
impl Storage<Book> for Books {
    fn verbs(&self) -> Verbs {
        Verbs::ALL
    }

    async fn get(&self, namespace: &str, name: &str) -> Result<Option<Book>, Status> {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.with(move |connection| find(connection, &namespace, &name))
            .await
    }

    async fn list(&self, query: &ListQuery) -> Result<Listing<Book>, Status> {
        let namespace = query.namespace.clone();
        let limit = query
            .limit
            .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let start = query.start.clone().unwrap_or_default();
        self.with(move |connection| {
            // One transaction, so that the version is that of the rows.
            let transaction = connection.transaction().map_err(failed)?;
            let after = start.split_once('/').unwrap_or(("", ""));
            // One more than wanted, to know whether there are more.
            let most = limit.map_or(-1, |limit| limit.saturating_add(1));
            let query = format!(
                "SELECT {COLUMNS} FROM books WHERE (?1 IS NULL OR namespace = ?1) \
                 AND (namespace, name) > (?2, ?3) ORDER BY namespace, name LIMIT ?4"
            );
            let mut items = {
                let mut statement = transaction.prepare(&query).map_err(failed)?;
                let rows = statement.query_map(params![namespace, after.0, after.1, most], book);
                let rows = rows.map_err(failed)?;
                rows.collect::<rusqlite::Result<Vec<Book>>>()
                    .map_err(failed)?
            };
            let version = changes::version(&transaction)?;
            let wanted = limit.and_then(|limit| usize::try_from(limit).ok());
            let more = wanted.is_some_and(|wanted| items.len() > wanted);
            items.truncate(wanted.unwrap_or(usize::MAX));
            let key = |book: &Book| {
                format!(
                    "{}/{}",
                    book.namespace().unwrap_or_default(),
                    book.name_any()
                )
            };
            let last = items.last().filter(|_| more).map(key);
            let listing = Listing::new(items).version(version);
            Ok(match last {
                Some(last) => listing.next(last),
                None => listing,
            })
        })
        .await
    }

    async fn watch(&self, after: u64) -> Result<Changes<Book>, Status> {
        changes::follow(self.clone(), after).await
    }

    async fn version(&self) -> Result<u64, Status> {
        self.with(|connection| changes::version(connection)).await
    }

    async fn create(&self, book: Book) -> Result<Book, Status> {
        self.write(move |connection| {
            let BookSpec {
                title,
                author,
                copies,
            } = &book.spec;
            let (namespace, name) = (book.namespace(), book.name_any());
            let transaction = connection.transaction().map_err(failed)?;
            let inserted = transaction.execute(
                "INSERT INTO books (namespace, name, title, author, copies, metadata) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
                params![namespace, name, title, author, copies, metadata(&book)?],
            );
            if inserted.map_err(failed)? == 0 {
                return Err(status::already_exists(&resource(), &name));
            }
            let created = written(&transaction, &book)?;
            transaction.commit().map_err(failed)?;
            Ok(created)
        })
        .await
    }

    async fn update(&self, book: Book) -> Result<Book, Status> {
        self.write(move |connection| {
            let BookSpec {
                title,
                author,
                copies,
            } = &book.spec;
            let (namespace, name) = (book.namespace(), book.name_any());
            let version: Option<i64> = book.resource_version().and_then(|it| it.parse().ok());
            let transaction = connection.transaction().map_err(failed)?;
            let updated = transaction.execute(
                "UPDATE books SET title = ?3, author = ?4, copies = ?5, metadata = ?6 \
                 WHERE namespace = ?1 AND name = ?2 AND version = ?7",
                params![
                    namespace,
                    name,
                    title,
                    author,
                    copies,
                    metadata(&book)?,
                    version
                ],
            );
            if updated.map_err(failed)? == 0 {
                return Err(status::conflict(&resource(), &name, "the row has changed"));
            }
            let updated = written(&transaction, &book)?;
            transaction.commit().map_err(failed)?;
            Ok(updated)
        })
        .await
    }

    async fn delete(&self, book: &Book) -> Result<(), Status> {
        let (namespace, name) = (book.namespace(), book.name_any());
        let version: Option<i64> = book.resource_version().and_then(|it| it.parse().ok());
        self.write(move |connection| {
            let deleted = connection.execute(
                "DELETE FROM books WHERE namespace = ?1 AND name = ?2 AND version = ?3",
                params![namespace, name, version],
            );
            match deleted.map_err(failed)? {
                0 => Err(status::conflict(&resource(), &name, "the row has changed")),
                _ => Ok(()),
            }
        })
        .await
    }
}

//! Books behind a cluster in this process, and another program that writes the table.

use std::{
    path::{Path, PathBuf},
    pin::pin,
    sync::atomic::{AtomicU32, Ordering},
};

use futures_util::{StreamExt, TryStreamExt};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
};
use kubewright::operator::OperatorCluster;
use rusqlite::Connection;
use serde_json::json;

use super::*;

/// A database that is removed with the test.
struct Database(PathBuf);

impl Database {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kubewright-books-{}-{n}.db", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    async fn behind_a_cluster(&self) -> OperatorCluster {
        let database = self.0.clone();
        let operator = Operator::new("library", |operator| register(operator, Flags { database }));
        operator.start_test().await.unwrap()
    }

    /// Runs SQL as another program would.
    fn run(&self, sql: &str) {
        run(&self.0, sql);
    }
}

fn run(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn dune() -> Book {
    let spec = BookSpec {
        title: "Dune".into(),
        author: "Herbert".into(),
        copies: 3,
    };
    Book::new("dune", spec)
}

fn code(error: kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn books_are_rows() {
    let database = Database::new();
    let cluster = database.behind_a_cluster().await;
    let books: Api<Book> = Api::default_namespaced(cluster.client());
    let how = PostParams::default();
    let made = books.create(&how, &dune()).await.unwrap();
    assert_eq!(code(books.create(&how, &dune()).await.unwrap_err()), 409);
    let count = || {
        let connection = Connection::open(&database.0).unwrap();
        let query = "SELECT copies FROM books WHERE name = 'dune'";
        connection
            .query_row(query, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(count(), 3);

    // Server-side apply changes one column, and keeps who owns it.
    let apply = Patch::Apply(json!({
        "apiVersion": "library.example.com/v1", "kind": "Book",
        "metadata": {"name": "dune", "labels": {"shelf": "a"}},
        "spec": {"title": "Dune", "author": "Herbert", "copies": 5},
    }));
    let params = PatchParams::apply("tests").force();
    let applied = books.patch("dune", &params, &apply).await.unwrap();
    assert_eq!((count(), applied.labels()["shelf"].as_str()), (5, "a"));
    assert_eq!(applied.uid(), made.uid());
    assert!(
        applied
            .managed_fields()
            .iter()
            .any(|it| it.manager.as_deref() == Some("tests"))
    );
    assert_eq!(
        code(books.replace("dune", &how, &made).await.unwrap_err()),
        409
    );

    // Rules of the type hold before the row is written.
    let wrong = Patch::Merge(json!({"spec": {"copies": -1}}));
    let error = books
        .patch("dune", &PatchParams::default(), &wrong)
        .await
        .unwrap_err();
    assert_eq!((code(error), count()), (422, 5));
    books
        .delete("dune", &DeleteParams::default())
        .await
        .unwrap();
    assert!(books.get_opt("dune").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_have_pages_and_selectors() {
    let database = Database::new();
    let cluster = database.behind_a_cluster().await;
    let books: Api<Book> = Api::default_namespaced(cluster.client());
    // The first request makes the table.
    assert!(
        books
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    for n in 0..7 {
        database.run(&format!(
            "INSERT INTO books (name, title, author) VALUES ('b{n}', 'B', 'author{}')",
            n % 2
        ));
    }
    let (mut names, mut start) = (Vec::new(), None);
    loop {
        let mut params = ListParams::default().limit(3);
        params.continue_token = start;
        let page = books.list(&params).await.unwrap();
        names.extend(page.items.iter().map(ResourceExt::name_any));
        start = page.metadata.continue_.filter(|it| !it.is_empty());
        if start.is_none() {
            break;
        }
    }
    assert_eq!(names, ["b0", "b1", "b2", "b3", "b4", "b5", "b6"]);
    let odd = ListParams::default().fields("spec.author=author1");
    assert_eq!(books.list(&odd).await.unwrap().items.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_other_programs_are_watched() {
    let database = Database::new();
    let cluster = database.behind_a_cluster().await;
    let books: Api<Book> = Api::default_namespaced(cluster.client());
    let listed = books.list(&ListParams::default()).await.unwrap();
    let version = listed.metadata.resource_version.unwrap();
    let events = books
        .watch(&WatchParams::default(), &version)
        .await
        .unwrap();
    let mut events = pin!(events);
    database.run("INSERT INTO books (name, title) VALUES ('emma', 'Emma')");
    let Some(WatchEvent::Added(emma)) = events.try_next().await.unwrap() else {
        panic!("an addition")
    };
    assert_eq!(emma.spec.title, "Emma");
    assert!(emma.uid().is_some());
    database.run("UPDATE books SET copies = 9 WHERE name = 'emma'");
    let Some(WatchEvent::Modified(emma)) = events.try_next().await.unwrap() else {
        panic!("a change")
    };
    assert_eq!(emma.spec.copies, 9);
    // The version of the event is that of the object.
    let read = books.get("emma").await.unwrap();
    assert_eq!(read.resource_version(), emma.resource_version());
    database.run("DELETE FROM books");
    let deleted = events.next().await.unwrap().unwrap();
    assert!(matches!(deleted, WatchEvent::Deleted(_)), "{deleted:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_from_a_version_that_is_no_longer_logged_is_expired() {
    let database = Database::new();
    let cluster = database.behind_a_cluster().await;
    let books: Api<Book> = Api::default_namespaced(cluster.client());
    assert!(
        books
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100) \
                INSERT INTO books (name, title) SELECT 'b' || i, 'B' FROM n";
    database.run(many);
    let events = books.watch(&WatchParams::default(), "1").await.unwrap();
    let first = pin!(events).next().await.unwrap();
    let code = match first {
        Ok(WatchEvent::Error(error)) => error.code,
        Err(kube::Error::Api(error)) => error.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code, 410);
}

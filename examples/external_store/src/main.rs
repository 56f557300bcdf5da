//! A kind that lives in SQLite.
//!
//! `books` are rows of a table with columns of their own. The API server of the cluster leads requests for them here, so kubectl,
//! controllers and informers use them as any other kind: with validation, server-side apply, selectors, pages and watches.
//! Other programs may change the table too, and watches see it.
//!
//! ```text
//! cargo build -p external_store
//! kubewright up &
//! kubewright run --executable target/debug/external_store -- --database books.db
//! kubectl apply -f book.yaml
//! kubectl get books -w
//! sqlite3 books.db "UPDATE books SET copies = 7 WHERE name = 'dune'"
//! ```

mod books;
mod changes;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use kube::CustomResource;
use kubewright::{Schema, extension_apiserver::Kind, operator::Operator};
use serde::{Deserialize, Serialize};

use books::Books;

/// A book of a library.
#[derive(CustomResource, Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "library.example.com",
    version = "v1",
    kind = "Book",
    namespaced,
    selectable = ".spec.author",
    printcolumn(name = "Author", type_ = "string", json_path = ".spec.author"),
    printcolumn(name = "Copies", type_ = "integer", json_path = ".spec.copies")
)]
pub struct BookSpec {
    /// The title.
    #[schema(min_length = 1)]
    title: String,
    /// The author.
    author: String,
    /// The number of copies.
    #[serde(default = "one")]
    #[schema(minimum = 0, default = 1)]
    copies: i64,
}

fn one() -> i64 {
    1
}

/// The flags of this program, beside those of every operator.
#[derive(Args)]
struct Flags {
    /// File of the database
    #[arg(long, value_name = "FILE", default_value = "books.db")]
    database: PathBuf,
}

fn register(operator: &mut Operator, flags: Flags) {
    let books = Books::at(flags.database);
    operator.aggregated_api(Kind::computed(books));
}

fn main() -> ExitCode {
    kubewright::operator::main_with_flags(env!("CARGO_PKG_NAME"), register)
}

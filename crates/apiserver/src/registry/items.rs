//! The objects of a list: in memory, or page by page.

use std::pin::Pin;

use futures_util::{Stream, StreamExt, stream};
use kubewright_machinery::Status;

use crate::object::Object;

/// A list of objects, or a chunk of one.
///
/// See [`List`](super::List) for an example.
pub struct ObjectList {
    /// The resourceVersion of the list.
    pub resource_version: String,
    /// The token for the next chunk, or empty.
    pub continue_token: String,
    /// The number of remaining objects, if it is known.
    pub remaining: Option<u64>,
    /// The objects.
    pub items: Items,
}

/// The objects of a list: all in memory, or page by page as they are written out.
pub enum Items {
    /// All objects.
    All(Vec<Object>),
    /// Pages that are read while they are sent. An error closes the connection.
    Pages(Box<dyn Pages>),
}

impl Items {
    /// Returns all objects from the first one on, page by page. Unlike [`collect`](Self::collect) it needs memory for one page.
    pub fn read(&self) -> PageStream {
        match self {
            Items::All(objects) => Box::pin(stream::iter([Ok(objects.clone())])),
            Items::Pages(pages) => pages.read(),
        }
    }

    /// Reads all objects.
    ///
    /// # Errors
    ///
    /// Fails if a page cannot be read.
    pub async fn collect(self) -> Result<Vec<Object>, Status> {
        match self {
            Items::All(objects) => Ok(objects),
            Items::Pages(pages) => {
                let mut pages = pages.read();
                let mut out = Vec::new();
                while let Some(page) = pages.next().await {
                    out.extend(page?);
                }
                Ok(out)
            }
        }
    }
}

/// The objects of a list that is too long to be in memory at once.
///
/// ```
/// use futures_util::stream;
/// use kubewright_apiserver::{Object, registry::{Items, PageStream, Pages}};
/// use serde_json::json;
///
/// /// Ten pages of one object each.
/// struct Numbers;
///
/// impl Pages for Numbers {
///     fn read(&self) -> PageStream {
///         let page = |n: u32| Ok(vec![Object::from_value(&json!({"metadata": {"name": n.to_string()}}))]);
///         Box::pin(stream::iter((0..10).map(page)))
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let objects = Items::Pages(Box::new(Numbers)).collect().await.unwrap();
/// assert_eq!(objects.len(), 10);
/// # });
/// ```
pub trait Pages: Send + Sync {
    /// Returns all objects from the first one on. Every call returns the same objects: an encoding that begins with the length
    /// of the whole list reads them twice.
    fn read(&self) -> PageStream;
}

/// A stream of pages.
pub type PageStream = Pin<Box<dyn Stream<Item = Result<Vec<Object>, Status>> + Send>>;

//! The objects of a list: in memory, or page by page.

use std::pin::Pin;

use futures_util::{Stream, StreamExt};
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
    /// Reads all objects.
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
pub trait Pages: Send + Sync {
    /// Returns all objects from the first one on. Every call returns the same objects: an encoding that begins with the length
    /// of the whole list reads them twice.
    fn read(&self) -> PageStream;
}

/// A stream of pages.
pub type PageStream = Pin<Box<dyn Stream<Item = Result<Vec<Object>, Status>> + Send>>;

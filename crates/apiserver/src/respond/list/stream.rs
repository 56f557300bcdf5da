//! Streams a list: items are encoded while the answer is sent.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use kubewright_machinery::Status;

use super::encoding::Encoding;
use crate::{
    body::{Body, BoxError},
    object::Object,
    registry::{Items, PageStream},
};

/// The number of bytes that are encoded before the answer begins. A shorter list is sent as a whole, with its length, and an
/// error in it is an answer.
const START: usize = 64 * 1024;

/// The number of bytes that are sent together. It bounds the memory of an answer, and the time that other requests wait.
const CHUNK: usize = 64 * 1024;

/// The time after which other requests get their turn. Most chunks take much less, and a turn costs a wake-up of another
/// worker.
const TURN: Duration = Duration::from_micros(500);

/// The size of objects in memory that are encoded as a whole.
const SMALL: usize = 512 * 1024;

/// A list that is being encoded.
struct Encoder {
    encoding: Box<dyn Encoding>,
    pages: PageStream,
    page: std::vec::IntoIter<Object>,
    done: bool,
    /// The beginning of this turn.
    began: Instant,
}

/// Returns the body of a list.
pub(super) async fn body(encoding: Box<dyn Encoding>, items: Items) -> Result<Body, Status> {
    let (pages, start): (PageStream, usize) = match items {
        Items::All(objects) => {
            let size: usize = objects.iter().map(|object| object.bytes.len()).sum();
            let start = if size <= SMALL { usize::MAX } else { START };
            (Box::pin(stream::iter([Ok(objects)])), start)
        }
        Items::Pages(pages) => (pages.read(), START),
    };
    let mut encoder = Encoder {
        encoding,
        pages,
        page: Vec::new().into_iter(),
        done: false,
        began: Instant::now(),
    };
    let mut first = Vec::with_capacity(START.min(start) + 4096);
    encoder.encoding.head(&mut first)?;
    encoder.fill(&mut first, start).await?;
    if encoder.done {
        return Ok(first.into());
    }
    let rest = stream::unfold(Some(encoder), |encoder| async move {
        let mut encoder = encoder.filter(|encoder| !encoder.done)?;
        if encoder.began.elapsed() >= TURN {
            // The connection sends what it has.
            tokio::task::yield_now().await;
            encoder.began = Instant::now();
        }
        let mut chunk = Vec::with_capacity(CHUNK + 4096);
        match encoder.fill(&mut chunk, CHUNK).await {
            Ok(()) => Some((Ok(Bytes::from(chunk)), Some(encoder))),
            Err(error) => {
                tracing::error!(message = error.message, "a list ended early");
                Some((Err(BoxError::from(error)), None))
            }
        }
    });
    let first = stream::iter([Ok::<Bytes, BoxError>(first.into())]);
    Ok(Body::stream(first.chain(rest)))
}

impl Encoder {
    /// Appends items until there are `size` bytes, or the end.
    async fn fill(&mut self, out: &mut Vec<u8>, size: usize) -> Result<(), Status> {
        loop {
            for object in self.page.by_ref() {
                self.encoding.item(&object, out)?;
                if out.len() >= size {
                    return Ok(());
                }
            }
            match self.pages.next().await {
                Some(page) => self.page = page?.into_iter(),
                None => {
                    self.done = true;
                    return self.encoding.tail(out);
                }
            }
        }
    }
}

//! [`Bodies`]: the bodies of requests, which are bounded each and together.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use kubewright_client::BoxError;

/// The maximum number of bytes of all bodies that are being read or handled.
const MAX_BUFFERED: usize = 256 << 20;

/// The time limit for a request body to arrive.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The bodies of the requests that are being read or handled.
pub(crate) struct Bodies {
    max: usize,
    buffered: AtomicUsize,
}

impl Default for Bodies {
    fn default() -> Self {
        Self {
            max: MAX_BUFFERED,
            buffered: AtomicUsize::new(0),
        }
    }
}

/// A body, which counts until this is dropped.
pub(crate) struct Buffered<'a> {
    bodies: &'a Bodies,
    counted: usize,
    bytes: Bytes,
}

/// A body that could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    TooLarge,
    /// All bodies together are too large.
    Busy,
    Failed(String),
}

impl Bodies {
    /// Reads a body of less than `limit` bytes.
    pub(crate) async fn read<B>(&self, body: B, limit: usize) -> Result<Buffered<'_>, Unread>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        match tokio::time::timeout(READ_TIMEOUT, self.collect(body, limit)).await {
            Ok(read) => read,
            Err(_) => Err(Unread::Failed(format!("no body within {READ_TIMEOUT:?}"))),
        }
    }

    async fn collect<B>(&self, body: B, limit: usize) -> Result<Buffered<'_>, Unread>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let mut buffered = Buffered {
            bodies: self,
            counted: 0,
            bytes: Bytes::new(),
        };
        let mut body = std::pin::pin!(body);
        if body.size_hint().lower() >= limit as u64 {
            return Err(Unread::TooLarge);
        }
        let mut more = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Unread::Failed(error.into().to_string()))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            buffered.count(data.len(), limit)?;
            // Most bodies are one chunk.
            match buffered.bytes.is_empty() && more.is_empty() {
                true => buffered.bytes = data,
                false => {
                    more.extend_from_slice(&std::mem::take(&mut buffered.bytes));
                    more.extend_from_slice(&data);
                }
            }
        }
        if !more.is_empty() {
            buffered.bytes = more.freeze();
        }
        Ok(buffered)
    }
}

impl Buffered<'_> {
    /// Returns the body.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    fn count(&mut self, bytes: usize, limit: usize) -> Result<(), Unread> {
        self.counted += bytes;
        let all = self.bodies.buffered.fetch_add(bytes, Relaxed) + bytes;
        match () {
            () if self.counted >= limit => Err(Unread::TooLarge),
            () if all > self.bodies.max => Err(Unread::Busy),
            () => Ok(()),
        }
    }
}

impl Drop for Buffered<'_> {
    fn drop(&mut self) {
        self.bodies.buffered.fetch_sub(self.counted, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;

    fn chunks(chunks: usize, size: usize) -> impl Body<Data = Bytes, Error = Infallible> {
        let chunk = Bytes::from(vec![b'x'; size]);
        let frames = (0..chunks).map(move |_| Ok(Frame::data(chunk.clone())));
        StreamBody::new(stream::iter(frames))
    }

    #[tokio::test]
    async fn bodies_are_bounded_each() {
        let bodies = Bodies::default();
        for body in [5, 8] {
            let whole = Full::new(Bytes::from(vec![b'x'; body]));
            let read = bodies.read(whole, 8).await.map(|it| it.bytes().len());
            assert_eq!(
                read,
                if body < 8 {
                    Ok(5)
                } else {
                    Err(Unread::TooLarge)
                }
            );
        }
        let read = bodies.read(chunks(3, 2), 8).await;
        assert_eq!(read.map(|it| it.bytes().clone()), Ok(Bytes::from("xxxxxx")));
        let read = bodies.read(chunks(usize::MAX, 2), 8).await;
        assert_eq!(read.err(), Some(Unread::TooLarge));
        assert_eq!(bodies.buffered.load(Relaxed), 0);
    }

    #[tokio::test]
    async fn bodies_are_bounded_together_until_they_are_handled() {
        let bodies = Bodies {
            max: 100,
            ..Bodies::default()
        };
        let first = bodies.read(chunks(3, 30), 200).await;
        let second = bodies.read(chunks(1, 20), 200).await;
        assert_eq!(second.err(), Some(Unread::Busy));
        drop(first);
        assert!(bodies.read(chunks(1, 20), 200).await.is_ok());
        assert_eq!(bodies.buffered.load(Relaxed), 0);
    }
}

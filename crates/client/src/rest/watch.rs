//! [`WatchStream`]: events, decoded while they arrive.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt, stream};
use http::{HeaderValue, Request, header};
use http_body_util::BodyExt;
use kube::{
    api::WatchEvent,
    client::Body,
    core::{Status, watch::Bookmark},
};
use serde::de::DeserializeOwned;

use super::response;
use crate::{
    error::{Error, Result},
    policy::transient,
    stream::{ByteStream, DecodeError, EventType, WatchDecoder, WatchFrame},
};

/// The events of a watch. An error ends it; otherwise it ends when the server closes it.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use futures_util::StreamExt;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::api::{WatchEvent, WatchParams};
/// use kubewright_client::ClientSet;
///
/// let namespaces = ClientSet::new(client).cluster::<Namespace>();
/// let mut events = namespaces.watch(&WatchParams::default(), "0").await.unwrap();
/// let first = events.next().await.unwrap().unwrap();
/// assert!(matches!(first, WatchEvent::Added(_)));
/// # });
/// ```
pub struct WatchStream<T>(Pin<Box<dyn Stream<Item = Result<WatchEvent<T>>> + Send>>);

impl<T> Stream for WatchStream<T> {
    type Item = Result<WatchEvent<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

/// Sends a watch. `settle` completes every object.
///
/// A connection that breaks before the watch has started counts as a watch that ended, so that the caller continues
/// from the last version.
pub(crate) async fn open<T, F>(
    client: &kube::Client,
    mut request: Request<Body>,
    settle: F,
) -> Result<WatchStream<T>>
where
    T: DeserializeOwned + Send + 'static,
    F: Fn(T) -> Result<T> + Send + 'static,
{
    // Servers may compress a watch event by event, which HTTP clients take for the end of the body.
    let identity = HeaderValue::from_static("identity");
    let headers = request.headers_mut();
    headers.entry(header::ACCEPT_ENCODING).or_insert(identity);
    let response = match response::open(client, request).await {
        Ok(response) => response,
        Err(Error::Transport(error))
            if transient::is_broken(&*error) || transient::is_timeout(&*error) =>
        {
            return Ok(WatchStream(Box::pin(stream::empty())));
        }
        Err(error) => return Err(error),
    };
    let chunks = response.into_body().into_data_stream();
    let chunks: ByteStream = Box::pin(chunks.map(|chunk| chunk.map_err(Into::into)));
    let state = Some((chunks, WatchDecoder::default(), settle));
    let events = stream::unfold(state, |state| async move {
        let (mut chunks, mut decoder, settle) = state?;
        match next(&mut chunks, &mut decoder).await {
            Ok(Some(frame)) => match event(frame, &settle) {
                Ok(event) => Some((Ok(event), Some((chunks, decoder, settle)))),
                Err(error) => Some((Err(error), None)),
            },
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(WatchStream(Box::pin(events)))
}

async fn next(chunks: &mut ByteStream, decoder: &mut WatchDecoder) -> Result<Option<WatchFrame>> {
    loop {
        if let Some(frame) = decoder.next()? {
            return Ok(Some(frame));
        }
        match chunks.next().await {
            Some(Ok(chunk)) => decoder.push(chunk),
            Some(Err(error)) => return Err(Error::of_body(error)),
            None if decoder.is_between_events() => return Ok(None),
            None => return Err(DecodeError::Truncated("event").into()),
        }
    }
}

fn event<T: DeserializeOwned>(
    frame: WatchFrame,
    settle: &impl Fn(T) -> Result<T>,
) -> Result<WatchEvent<T>> {
    let object = || settle(decode(&frame.object)?);
    Ok(match frame.event {
        EventType::Added => WatchEvent::Added(object()?),
        EventType::Modified => WatchEvent::Modified(object()?),
        EventType::Deleted => WatchEvent::Deleted(object()?),
        EventType::Bookmark => WatchEvent::Bookmark(decode::<Bookmark>(&frame.object)?),
        EventType::Error => WatchEvent::Error(Box::new(decode::<Status>(&frame.object)?)),
    })
}

fn decode<T: DeserializeOwned>(json: &[u8]) -> Result<T> {
    serde_json::from_slice(json).map_err(|error| Error::Decode(error.to_string()))
}

//! [`Listing`]: the items of a list, decoded while it arrives.

use std::marker::PhantomData;

use futures_util::StreamExt;
use http::Request;
use http_body_util::BodyExt;
use kube::{
    api::ObjectList,
    client::Body,
    core::{ListMeta, TypeMeta},
};
use serde::de::DeserializeOwned;

use super::form::Form;
use crate::{
    error::{Error, Result},
    rest::response,
    stream::{ByteStream, DecodeError, ListDecoder, ListHead},
};

/// A list that is being received, with one item in memory at a time.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::api::ListParams;
/// use kubewright_client::ClientSet;
///
/// let namespaces = ClientSet::new(client).cluster::<Namespace>();
/// let mut listing = namespaces.list_each(&ListParams::default()).await.unwrap();
/// let mut names = Vec::new();
/// while let Some(namespace) = listing.next().await.unwrap() {
///     names.extend(namespace.metadata.name);
/// }
/// assert!(names.contains(&"kube-system".to_owned()));
/// assert!(listing.finish().unwrap().continue_token.is_empty());
/// # });
/// ```
pub struct Listing<T, F> {
    chunks: ByteStream,
    decoder: ListDecoder,
    taken: usize,
    form: PhantomData<fn() -> (T, F)>,
}

impl<T: DeserializeOwned, F: Form<T>> Listing<T, F> {
    pub(super) async fn open(client: &kube::Client, request: Request<Body>) -> Result<Self> {
        let response = response::open(client, request).await?;
        let chunks = response.into_body().into_data_stream();
        Ok(Self {
            chunks: Box::pin(chunks.map(|chunk| chunk.map_err(Into::into))),
            decoder: ListDecoder::default(),
            taken: 0,
            form: PhantomData,
        })
    }

    /// Returns the next item; `None` at the end.
    ///
    /// # Errors
    ///
    /// Fails if the response breaks off, or if an item cannot be decoded.
    pub async fn next(&mut self) -> Result<Option<T>> {
        loop {
            if let Some(item) = self.decoder.next()? {
                let index = self.taken;
                self.taken += 1;
                let item: T = serde_json::from_slice(&item)
                    .map_err(|error| Error::Decode(format!("items[{index}]: {error}")))?;
                return F::settle(item, Some(self.decoder.head())).map(Some);
            }
            match self.chunks.next().await {
                Some(Ok(chunk)) => self.decoder.push(chunk),
                Some(Err(error)) => return Err(Error::of_body(error)),
                None => return Ok(None),
            }
        }
    }

    /// Returns the metadata of the list.
    ///
    /// # Errors
    ///
    /// Fails if the list is incomplete, or if the response is not a list.
    pub fn finish(self) -> Result<ListHead> {
        let head = self.decoder.finish()?;
        if head.kind == "Status" {
            let what = "a Status instead of a list".to_owned();
            return Err(DecodeError::Unexpected(what).into());
        }
        Ok(head)
    }

    /// Collects the whole list.
    ///
    /// # Errors
    ///
    /// Fails like [`next`](Self::next).
    pub async fn collect(mut self) -> Result<ObjectList<T>>
    where
        T: Clone,
    {
        let mut items = Vec::new();
        while let Some(item) = self.next().await? {
            items.push(item);
        }
        let head = self.finish()?;
        Ok(ObjectList {
            types: TypeMeta {
                api_version: head.api_version,
                kind: head.kind,
            },
            metadata: ListMeta {
                continue_: Some(head.continue_token).filter(|token| !token.is_empty()),
                remaining_item_count: head.remaining,
                resource_version: Some(head.resource_version).filter(|rv| !rv.is_empty()),
                ..ListMeta::default()
            },
            items,
        })
    }
}

//! Long lists, page by page.
//!
//! All pages show the same moment, as long as the server keeps it. If it does not (410 on a later page), only a whole
//! list helps: [`ObjectClient::list_paged`] requests it automatically, and [`Pages`] leaves it to the caller, who may
//! have acted on earlier pages already.

use kube::api::{ListParams, ObjectList};
use serde::de::DeserializeOwned;

use super::{ObjectClient, form::Form};
use crate::error::Result;

/// The default page size.
pub(super) const PAGE_SIZE: u32 = 500;

/// The pages of a list.
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
/// let mut pages = namespaces.pages(&ListParams::default().limit(2));
/// let mut count = 0;
/// while let Some(page) = pages.next().await.unwrap() {
///     assert!(page.items.len() <= 2);
///     count += page.items.len();
/// }
/// assert!(count > 2);
/// # });
/// ```
pub struct Pages<'a, T, F> {
    objects: &'a ObjectClient<T, F>,
    /// The parameters of the next page.
    params: Option<ListParams>,
}

impl<T, F> ObjectClient<T, F>
where
    T: DeserializeOwned + Clone + Send + 'static,
    F: Form<T>,
{
    /// Returns the pages of a list, of 500 items unless the parameters have a limit.
    pub fn pages(&self, params: &ListParams) -> Pages<'_, T, F> {
        let mut params = params.clone();
        params.limit.get_or_insert(PAGE_SIZE);
        Pages {
            objects: self,
            params: Some(params),
        }
    }

    /// Returns a whole list, requested in pages. The resource version is that of the first page.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached, or if an item cannot be decoded.
    pub async fn list_paged(&self, params: &ListParams) -> Result<ObjectList<T>> {
        let mut pages = self.pages(params);
        let Some(mut whole) = pages.next().await? else {
            return self.list(params).await;
        };
        loop {
            match pages.next().await {
                Ok(Some(page)) => whole.items.extend(page.items),
                Ok(None) => break,
                Err(error) if error.is_expired() => {
                    let mut at_once = params.clone();
                    at_once.limit = None;
                    at_once.continue_token = None;
                    return self.list(&at_once).await;
                }
                Err(error) => return Err(error),
            }
        }
        whole.metadata.continue_ = None;
        whole.metadata.remaining_item_count = None;
        Ok(whole)
    }
}

impl<T, F> Pages<'_, T, F>
where
    T: DeserializeOwned + Clone + Send + 'static,
    F: Form<T>,
{
    /// Returns the next page; `None` at the end, and after an error.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached, or if an item cannot be decoded.
    pub async fn next(&mut self) -> Result<Option<ObjectList<T>>> {
        let Some(params) = self.params.take() else {
            return Ok(None);
        };
        let page = self.objects.list(&params).await?;
        let token = page.metadata.continue_.as_deref().unwrap_or_default();
        if !token.is_empty() {
            let mut next = params.continue_token(token);
            // The token determines the version.
            next.resource_version = None;
            next.version_match = None;
            self.params = Some(next);
        }
        Ok(Some(page))
    }
}

//! Filling by a list: pages, expiry, whole lists.

use std::cmp::Ordering;
use std::sync::Arc;

use kubewright_client::stream::{DecodeError, ListDecoder, ListHead};

use super::config::PAGE_SIZE;
use super::cycle::Reflector;
use super::error::ReflectorError;
use crate::delta::Delta;
use crate::lister_watcher::ListRequest;
use crate::object::StoredObject;
use crate::version::compare_resource_versions;

/// A complete list, of one page or many.
struct Listed {
    objects: Vec<Arc<StoredObject>>,
    resource_version: String,
    paginated: bool,
}

impl Reflector {
    /// Lists everything and pushes it as one step.
    pub(super) async fn list(&mut self) -> Result<(), ReflectorError> {
        self.monitor.metrics.lists.inc();
        let at = match &self.last_version {
            _ if self.last_version_unavailable => String::new(),
            None => "0".to_owned(),
            Some(version) => version.clone(),
        };
        let (at, listed) = match self.list_at(&at).await {
            Err(error)
                if error.is_expired()
                    || error.is_too_large_resource_version()
                    || matches!(error, ReflectorError::StaleList { .. }) =>
            {
                // At the newest version, without delay.
                tracing::debug!(%error, "listing the newest revision instead");
                self.last_version_unavailable = true;
                (String::new(), self.list_at("").await?)
            }
            other => (at, other?),
        };
        if at == "0" && listed.paginated {
            self.paginated = true;
        }
        self.last_version_unavailable = false;
        self.monitor.metrics.relisted(self.relist_cause);
        self.replaced(listed.objects, listed.resource_version).await;
        Ok(())
    }

    /// Pushes all objects as one step.
    pub(super) async fn replaced(&mut self, objects: Vec<Arc<StoredObject>>, version: String) {
        self.reached(&version);
        let replaced = Delta::Replaced {
            objects,
            resource_version: version,
        };
        self.queue.push(self.source, replaced).await;
        self.monitor.healthy(self.source);
        self.monitor.sign_of_life();
    }

    async fn list_at(&mut self, at: &str) -> Result<Listed, ReflectorError> {
        let limit = match self.config.page_size {
            Some(size) => Some(size),
            None if self.paginated => Some(PAGE_SIZE),
            // A limit would make the server read its storage instead of its cache.
            None if !matches!(at, "" | "0") => None,
            None => Some(PAGE_SIZE),
        };
        let mut objects = Vec::new();
        let first = ListRequest {
            resource_version: at.to_owned(),
            limit,
            continue_token: String::new(),
        };
        let head = self.page(first.clone(), &mut objects).await?;
        let resource_version = head.resource_version;
        let mut token = head.continue_token;
        let paginated = !token.is_empty();
        while !token.is_empty() {
            let next = ListRequest {
                resource_version: String::new(),
                limit,
                continue_token: std::mem::take(&mut token),
            };
            match self.page(next, &mut objects).await {
                Ok(head) => token = head.continue_token,
                Err(error) if error.is_expired() => {
                    // The pages have expired: start over with a single request.
                    objects.clear();
                    let whole = ListRequest {
                        limit: None,
                        ..first
                    };
                    let head = self.page(whole, &mut objects).await?;
                    return checked(at, objects, head.resource_version, true);
                }
                Err(error) => return Err(error),
            }
        }
        checked(at, objects, resource_version, paginated)
    }

    /// Reads one page. Its objects are converted while it arrives.
    async fn page(
        &self,
        request: ListRequest,
        objects: &mut Vec<Arc<StoredObject>>,
    ) -> Result<ListHead, ReflectorError> {
        self.monitor.metrics.list_pages.inc();
        let list = self.lister_watcher.list(request);
        let mut stream = Self::within_stall(self.config.stall, list).await?;
        let mut decoder = ListDecoder::default();
        while let Some(chunk) = self.chunk(&mut stream).await? {
            decoder.push(chunk);
            while let Some(item) = decoder.next()? {
                if decoder.head().kind == "Table" {
                    return Err(DecodeError::Unexpected("a Table".to_owned()).into());
                }
                objects.extend(self.object(&item));
            }
        }
        Ok(decoder.finish()?)
    }
}

fn checked(
    wanted: &str,
    objects: Vec<Arc<StoredObject>>,
    resource_version: String,
    paginated: bool,
) -> Result<Listed, ReflectorError> {
    if compare_resource_versions(&resource_version, wanted) == Some(Ordering::Less) {
        return Err(ReflectorError::StaleList {
            wanted: wanted.to_owned(),
            got: resource_version,
        });
    }
    Ok(Listed {
        objects,
        resource_version,
        paginated,
    })
}

//! The methods of [`Discovery`] on the types that implement it, so that callers need not import the trait.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
use kubewright_machinery::gvk::GroupVersion;

use super::{Discovered, Discovery, DiscoveryClient, DiskCache, MemoryCache};
use crate::error::Result;

macro_rules! inherent {
    ($(impl<$($d:ident)?> $discovery:ty;)+) => {$(
        impl<$($d: Discovery)?> $discovery {
            /// Returns the groups and their versions, the core group first.
            ///
            /// # Errors
            ///
            /// Fails if the server rejects the request or cannot be reached.
            pub async fn groups(&self) -> Result<Vec<APIGroup>> {
                Discovery::groups(self).await
            }

            /// Returns the resources of a group version.
            ///
            /// # Errors
            ///
            /// Fails if the server rejects the request or cannot be reached.
            pub async fn resources(&self, version: &GroupVersion) -> Result<APIResourceList> {
                Discovery::resources(self, version).await
            }

            /// Returns all groups and resources. An error means that nothing could be discovered; partial failures
            /// are in [`failures`](Discovered::failures).
            ///
            /// # Errors
            ///
            /// Fails if nothing could be discovered.
            pub async fn discover(&self) -> Result<Discovered> {
                Discovery::discover(self).await
            }
        }
    )+};
}

inherent! {
    impl<> DiscoveryClient;
    impl<D> MemoryCache<D>;
    impl<D> DiskCache<D>;
}

macro_rules! cache {
    ($($cache:ident)+) => {$(
        impl<D: Discovery> $cache<D> {
            /// Discards everything that is cached.
            pub async fn invalidate(&self) {
                Discovery::invalidate(self).await;
            }

            /// Reports whether asking again would yield nothing new, because everything known was fetched since the
            /// start or the last [`invalidate`](Self::invalidate).
            pub fn is_fresh(&self) -> bool {
                Discovery::is_fresh(self)
            }
        }
    )+};
}

cache! { MemoryCache DiskCache }

//! [`DiscoveryClient`]: discovery without a cache.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use k8s_openapi::apimachinery::pkg::{
    apis::meta::v1::{
        APIGroup, APIGroupList, APIResourceList, APIVersions, GroupVersionForDiscovery,
    },
    version::Info,
};
use kube::client::APIGroupDiscoveryList;
use kubewright_machinery::gvk::{GroupVersion, GroupVersionResource};
use serde::Deserialize;
use serde_json::Value;

use super::{Discovered, Discovery, aggregated, by_parts};
use crate::{
    error::{Error, Result},
    rest::{RestClient, RestResponse, path},
};

/// The timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(32);

/// The maximum number of attempts when some groups fail.
const TRIES: usize = 2;

/// Asks the server for its groups and resources: in two requests, or in one for every version if the server does not
/// support aggregated discovery. Caches nothing.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_client::DiscoveryClient;
/// use kubewright_machinery::gvk::{GroupVersion, GroupVersionResource};
///
/// let discovery = DiscoveryClient::new(client);
/// assert_eq!(discovery.server_version().await.unwrap().major, "1");
/// let apps = discovery.resources(&GroupVersion::new("apps", "v1")).await.unwrap();
/// assert!(apps.resources.iter().any(|resource| resource.name == "deployments/scale"));
/// assert!(!discovery.is_enabled(&GroupVersionResource::new("apps", "v9", "deployments")).await.unwrap());
/// # });
/// ```
#[derive(Clone)]
pub struct DiscoveryClient {
    rest: RestClient,
    accept: &'static str,
}

/// Groups, and their resources if the response contains them.
struct Part {
    found: Discovered,
    with_resources: bool,
}

impl DiscoveryClient {
    /// Creates a client.
    pub fn new(client: kube::Client) -> Self {
        Self {
            rest: RestClient::new(client),
            accept: aggregated::ACCEPT,
        }
    }

    /// Disables aggregated discovery.
    #[must_use]
    pub fn legacy_only(mut self) -> Self {
        self.accept = aggregated::ACCEPT_LEGACY;
        self
    }

    /// Asks for the resources of this one server, where several serve a cluster.
    #[must_use]
    pub fn no_peer(mut self) -> Self {
        self.accept = aggregated::ACCEPT_NO_PEER;
        self
    }

    /// Returns the version of the server.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached.
    pub async fn server_version(&self) -> Result<Info> {
        self.get("/version", aggregated::ACCEPT_LEGACY)
            .await?
            .object()
    }

    /// Reports whether the server has a resource.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached, except if it does not have the group version.
    pub async fn is_enabled(&self, resource: &GroupVersionResource) -> Result<bool> {
        match self.resources(&resource.group_version()).await {
            Ok(list) => Ok(list.resources.iter().any(|r| r.name == resource.resource)),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the paths of the OpenAPI documents: for each group version, such as `apis/apps/v1`, the URL with a hash
    /// of its content.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached.
    pub async fn openapi_v3_paths(&self) -> Result<BTreeMap<String, String>> {
        #[derive(Deserialize)]
        struct Paths {
            #[serde(default)]
            paths: BTreeMap<String, Path>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Path {
            #[serde(rename = "serverRelativeURL")]
            server_relative_url: String,
        }
        let answer = self.get("/openapi/v3", aggregated::ACCEPT_LEGACY).await?;
        let paths: Paths = answer.object()?;
        let paths = paths.paths.into_iter();
        Ok(paths
            .map(|(name, path)| (name, path.server_relative_url))
            .collect())
    }

    /// Returns the OpenAPI document of a group version.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached.
    pub async fn openapi_v3(&self, version: &GroupVersion) -> Result<Value> {
        let path = format!("/openapi/v3{}", path::of_group_version(version));
        self.get(&path, aggregated::ACCEPT_LEGACY).await?.object()
    }

    async fn get(&self, path: &str, accept: &str) -> Result<RestResponse> {
        let request = self.rest.get().abs_path(path).header("accept", accept);
        let request = request.send();
        tokio::time::timeout(TIMEOUT, request)
            .await
            .map_err(|_| Error::TimedOut(TIMEOUT))?
    }

    async fn once(&self) -> Result<Part> {
        let mut part = self.core().await?;
        let apis = self.apis().await?;
        part.found.groups.extend(apis.found.groups);
        part.found.resources.extend(apis.found.resources);
        part.found.failures.extend(apis.found.failures);
        part.with_resources &= apis.with_resources;
        if !part.with_resources {
            part.found.resources.clear();
        }
        Ok(part)
    }

    async fn core(&self) -> Result<Part> {
        let answer = match self.get("/api", self.accept).await {
            Ok(answer) => answer,
            // Aggregated API servers have no core group.
            Err(error) if error.is_not_found() => {
                return Ok(Part {
                    found: Discovered::default(),
                    with_resources: true,
                });
            }
            Err(error) => return Err(error),
        };
        if let Some(part) = aggregated_part(&answer)? {
            return Ok(part);
        }
        let versions: APIVersions = answer.object()?;
        let versions: Vec<_> = versions
            .versions
            .into_iter()
            .map(|version| GroupVersionForDiscovery {
                group_version: version.clone(),
                version,
            })
            .collect();
        let group = APIGroup {
            preferred_version: versions.first().cloned(),
            versions,
            ..APIGroup::default()
        };
        Ok(legacy_part(vec![group]))
    }

    async fn apis(&self) -> Result<Part> {
        let answer = self.get("/apis", self.accept).await?;
        if let Some(part) = aggregated_part(&answer)? {
            return Ok(part);
        }
        let list: APIGroupList = answer.object()?;
        Ok(legacy_part(list.groups))
    }
}

#[async_trait]
impl Discovery for DiscoveryClient {
    async fn groups(&self) -> Result<Vec<APIGroup>> {
        Ok(self.once().await?.found.groups)
    }

    async fn resources(&self, version: &GroupVersion) -> Result<APIResourceList> {
        if version.version.is_empty() {
            let text = "a group and version are needed to list resources";
            return Err(Error::Request(text.to_owned()));
        }
        let path = path::of_group_version(version);
        match self.get(&path, aggregated::ACCEPT_LEGACY).await {
            Ok(answer) => answer.object(),
            Err(error) if error.is_not_found() && version.to_string() == "v1" => {
                Ok(APIResourceList {
                    group_version: version.to_string(),
                    resources: Vec::new(),
                })
            }
            Err(error) => Err(error),
        }
    }

    async fn discover(&self) -> Result<Discovered> {
        let mut tried = 0;
        loop {
            tried += 1;
            let part = self.once().await?;
            let found = if part.with_resources {
                part.found
            } else {
                by_parts(self, part.found.groups).await
            };
            if found.failures.is_empty() || tried == TRIES {
                return Ok(found);
            }
        }
    }

    fn is_fresh(&self) -> bool {
        true
    }

    async fn invalidate(&self) {}
}

fn aggregated_part(answer: &RestResponse) -> Result<Option<Part>> {
    if !aggregated::is_aggregated(answer.content_type()) {
        return Ok(None);
    }
    let list: APIGroupDiscoveryList = answer.object()?;
    Ok(Some(Part {
        found: aggregated::split(&list),
        with_resources: true,
    }))
}

fn legacy_part(groups: Vec<APIGroup>) -> Part {
    Part {
        found: Discovered {
            groups,
            ..Discovered::default()
        },
        with_resources: false,
    }
}

//! Invalid input: the right error, a live server, and nothing changed.

mod bodies;
mod encodings;
mod kinds;
mod names;
mod patches;
mod protobuf;
mod readers;
mod selectors;
mod yaml;

use kubewright_testing::TestCluster;

use crate::http_client::{Http, MAPS, map_with};

/// A cluster with one ConfigMap, `a`, that must come through unchanged.
pub(crate) struct Target {
    cluster: TestCluster,
    pub(crate) http: Http,
    revision: u64,
}

impl Target {
    pub(crate) async fn new() -> Self {
        let cluster = TestCluster::start().await;
        let http = Http::of(&cluster);
        http.post(MAPS, map_with("a", "1")).await.ok();
        let revision = cluster.revision().await;
        Self {
            cluster,
            http,
            revision,
        }
    }

    /// Checks that nothing has been stored and that the server still responds.
    #[track_caller]
    pub(crate) fn unharmed(&self) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            assert_eq!(self.cluster.revision().await, self.revision, "{caller}");
            let a = self.http.get(&format!("{MAPS}/a")).await;
            assert_eq!(
                (a.code, &a.ok()["data"]["value"]),
                (200, &"1".into()),
                "{caller}"
            );
        }
    }
}

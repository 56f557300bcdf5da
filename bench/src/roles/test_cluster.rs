//! The embedded server as tests start it, until it has confirmed a created object: the first time in a process, and
//! repeatedly.

use std::time::Instant;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kubewright_testing::{TestCluster, TestClusterBuilder};

use crate::{contest::Sample, results::median};

/// The argument is the number of repetitions.
pub(super) fn run(count: &str) -> anyhow::Result<Sample> {
    let count: usize = count.parse()?;
    let mut sample = Sample::default();
    let mut add = |key: &str, figure: f64| sample.figures.insert(key.to_owned(), figure);
    add("cold", first_object(TestCluster::builder())?);
    let middle = |cluster: TestClusterBuilder| {
        let times = (0..count).map(|_| first_object(cluster.clone()));
        let times: Vec<f64> = times.collect::<anyhow::Result<_>>()?;
        anyhow::Ok(median(&times).unwrap_or(f64::NAN))
    };
    let open = middle(TestCluster::builder())?;
    let closed = middle(TestCluster::builder().rbac())?;
    add("warm", open);
    add("warm_rbac", closed);
    add("rbac", closed - open);
    let full = || TestCluster::builder().workloads().nodes(2);
    let times = (0..count).map(|_| started(full()));
    let times: Vec<f64> = times.collect();
    add("workloads", median(&times).unwrap_or(f64::NAN));
    Ok(sample)
}

/// Returns the time until a cluster has started, in milliseconds.
fn started(cluster: TestClusterBuilder) -> f64 {
    crate::cases::on_one_thread(async {
        let began = Instant::now();
        let _cluster = cluster.start().await;
        began.elapsed().as_secs_f64() * 1e3
    })
}

/// The time in milliseconds.
fn first_object(cluster: TestClusterBuilder) -> anyhow::Result<f64> {
    crate::cases::on_one_thread(async {
        let began = Instant::now();
        let cluster = cluster.start().await;
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
        let mut map = ConfigMap::default();
        map.metadata.name = Some("first".to_owned());
        maps.create(&PostParams::default(), &map).await?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    })
}

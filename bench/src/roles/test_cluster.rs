//! The embedded server as tests start it, until it has confirmed a created object: the first time in a process, and
//! repeatedly.

use std::time::Instant;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kubewright_testing::TestCluster;

use crate::{contest::Sample, results::median};

/// The argument is the number of repetitions.
pub(super) fn run(count: &str) -> anyhow::Result<Sample> {
    let count: usize = count.parse()?;
    let mut sample = Sample::default();
    sample.figures.insert("cold".to_owned(), first_object()?);
    let times = (0..count).map(|_| first_object());
    let times: Vec<f64> = times.collect::<anyhow::Result<_>>()?;
    let middle = median(&times).unwrap_or(f64::NAN);
    sample.figures.insert("warm".to_owned(), middle);
    Ok(sample)
}

/// The time in milliseconds.
fn first_object() -> anyhow::Result<f64> {
    crate::cases::on_one_thread(async {
        let began = Instant::now();
        let cluster = TestCluster::start().await;
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
        let mut map = ConfigMap::default();
        map.metadata.name = Some("first".to_owned());
        maps.create(&PostParams::default(), &map).await?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    })
}

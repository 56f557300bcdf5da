//! The subresource `planets/orbit`: a stream of bytes, to `kubectl get --raw` as to the WebSocket of a browser.

use kube::ResourceExt;
use kubewright::apiserver::request::RequestContext;
use kubewright::extension_apiserver::{LogStream, LogSubresource, async_trait, log_of};
use kubewright::machinery::Status;

use crate::api::sky::v1::Planet;

/// Serves `planets/orbit`.
pub struct PlanetOrbit;

#[async_trait]
impl LogSubresource<Planet> for PlanetOrbit {
    async fn log(&self, _: &RequestContext, planet: Planet) -> Result<LogStream, Status> {
        let (name, year) = (planet.name_any(), planet.spec.year_in_days);
        let lines = (1..=4).map(move |quarter| {
            let day = year * quarter / 4;
            format!("day {day}: {name} is {quarter}/4 around\n")
        });
        Ok(log_of(lines))
    }
}

//! A custom API server.
//!
//! It serves:
//! - `planets`, a computed kind that is never stored;
//! - `observations`, a stored kind with all verbs, watches and server-side apply;
//! - `planets/{name}/orbit`, a streaming subresource.
//!
//! Names, validation, printer columns and OpenAPI documents come from the Rust types.
//!
//! ```text
//! cargo run -p custom_apiserver
//! kubectl --server http://127.0.0.1:8001 get planets
//! kubectl --server http://127.0.0.1:8001 explain observations.spec
//! kubectl --server http://127.0.0.1:8001 apply --server-side -f observation.yaml
//! kubectl --server http://127.0.0.1:8001 get observations -w
//! kubectl --server http://127.0.0.1:8001 get --raw /apis/sky.example.com/v1/planets/mars/orbit
//! ```
//!
//! With flags it runs behind a cluster, whose API server forwards requests to the Service `sky-system/sky`:
//!
//! ```text
//! cargo run -p custom_apiserver -- --kubeconfig ~/.kube/config --secure-port 8443
//! kubectl get planets
//! ```

mod behind_cluster;
#[cfg(test)]
mod tests;

use std::{error::Error, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response};
use kube::CustomResource;
use kubewright::{
    Schema,
    apiserver::{Body, registry::Connect, request::RequestContext},
    extension_apiserver::{
        ExtensionServer, ExtensionServerBuilder, Kind, ListQuery, Listing, ServerFlags, Storage,
        Verbs,
    },
    machinery::{Status, gvk::GroupResource, status},
    store::MemoryStore,
};
use serde::{Deserialize, Serialize};

/// A planet of the solar system.
#[allow(clippy::duplicated_attributes)] // Two columns of the same type.
#[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "sky.example.com",
    version = "v1",
    kind = "Planet",
    shortname = "pl",
    printcolumn(name = "Year", type_ = "integer", json_path = ".spec.yearInDays"),
    printcolumn(name = "Moons", type_ = "integer", json_path = ".spec.moons")
)]
#[serde(rename_all = "camelCase")]
pub struct PlanetSpec {
    /// The orbital period in days.
    year_in_days: u32,
    /// The number of moons.
    moons: u32,
}

/// An observation of a planet.
#[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "sky.example.com",
    version = "v1",
    kind = "Observation",
    namespaced
)]
#[kube(selectable = ".spec.planet")]
#[kube(printcolumn(name = "Planet", type_ = "string", json_path = ".spec.planet"))]
pub struct ObservationSpec {
    /// The name of the planet.
    #[schema(min_length = 1)]
    planet: String,
    /// The apparent magnitude: the brighter, the lower.
    #[schema(minimum = -5, maximum = 20)]
    magnitude: Option<f64>,
}

/// The data of the planets: name, orbital period in days, number of moons.
const PLANETS: [(&str, u32, u32); 4] = [
    ("mercury", 88, 0),
    ("venus", 225, 0),
    ("earth", 365, 1),
    ("mars", 687, 2),
];

fn planet((name, year_in_days, moons): (&str, u32, u32)) -> Planet {
    let spec = PlanetSpec {
        year_in_days,
        moons,
    };
    Planet::new(name, spec)
}

/// Computes planets on request.
struct Planets;

#[async_trait]
impl Storage<Planet> for Planets {
    fn verbs(&self) -> Verbs {
        Verbs::READ
    }

    async fn get(&self, _namespace: &str, name: &str) -> Result<Option<Planet>, Status> {
        let found = PLANETS.into_iter().find(|(known, ..)| *known == name);
        Ok(found.map(planet))
    }

    async fn list(&self, _query: &ListQuery) -> Result<Listing<Planet>, Status> {
        Ok(Listing::new(PLANETS.map(planet).to_vec()))
    }
}

/// Streams a line for each quarter of the orbit.
struct Orbit;

#[async_trait]
impl Connect for Orbit {
    async fn connect(
        &self,
        _: &RequestContext,
        name: &str,
        _: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        let planets = GroupResource::new("sky.example.com", "planets");
        let found = PLANETS.into_iter().find(|(known, ..)| *known == name);
        let (name, days, _) = found.ok_or_else(|| status::not_found(&planets, name))?;
        let lines = stream::iter(1..=4u32).then(move |quarter| async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let day = days * quarter / 4;
            Ok(Bytes::from(format!(
                "day {day:>3}: {name} is {quarter}/4 around\n"
            )))
        });
        Ok(Response::new(Body::stream(lines)))
    }
}

fn kinds() -> ExtensionServerBuilder {
    ExtensionServer::builder()
        .kind(Kind::computed(Planets).stream("orbit", Orbit))
        .store::<Observation>(Arc::new(MemoryStore::new()))
}

/// Completes when the program is interrupted.
async fn interrupted() {
    // Without a signal handler the server cannot be stopped gracefully; it keeps serving.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg.starts_with("--")) {
        return behind_cluster::run(&ServerFlags::parse(&args)?).await;
    }
    let address = args.first().map_or("127.0.0.1:8001", String::as_str);
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!(
        "serving planets and observations at http://{}",
        listener.local_addr()?
    );
    kinds().build()?.serve(listener, interrupted()).await;
    Ok(())
}

//! A custom API server.
//!
//! It serves:
//! - `planets`, a computed kind that is never stored;
//! - `observations`, a stored kind with all verbs, watches, server-side apply and protobuf;
//! - `planets/{name}/orbit`, a stream that `kubectl get --raw` and the WebSocket of a browser can read;
//! - `planets/{name}/radio`, standard streams as `pods/exec` has them, for the executors of client-go.
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
//! kubewright up &
//! cargo run -p custom_apiserver -- --kubeconfig kubeconfig --secure-port 8443 &
//! kubectl --kubeconfig kubeconfig get planets
//! ```
//!
//! With `--kubeconfig`, the program creates the namespace and the Service, as an alias of this machine, which the API server
//! must reach. In a pod, it needs a Service of its own.

mod behind_cluster;
#[cfg(test)]
mod tests;

use std::{error::Error, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use kube::{CustomResource, ResourceExt};
use kubewright::{
    Schema,
    apiserver::request::RequestContext,
    extension_apiserver::{
        ExecSubresource, ExtensionServer, ExtensionServerBuilder, Kind, ListQuery, Listing,
        LogStream, LogSubresource, ServerFlags, ServerStore, Storage, Verbs,
    },
    machinery::{Status, status},
    streams::{Exec, ExecSession, Exit},
};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;

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
    #[schema(protobuf = 1, min_length = 1)]
    planet: String,
    /// The apparent magnitude: the brighter, the lower.
    #[schema(protobuf = 2, minimum = -5, maximum = 20)]
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

/// Streams a line for each quarter of the orbit, to `kubectl get --raw` as to the WebSocket of a browser.
struct Orbit;

#[async_trait]
impl LogSubresource<Planet> for Orbit {
    async fn log(&self, _: &RequestContext, planet: Planet) -> Result<LogStream, Status> {
        let (name, days) = (planet.name_any(), planet.spec.year_in_days);
        Ok(Box::pin(stream::iter(1..=4u32).then(move |quarter| {
            let line = format!(
                "day {:>3}: {name} is {quarter}/4 around\n",
                days * quarter / 4
            );
            async move {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(line.into())
            }
        })))
    }
}

/// A radio to a planet, as `kubectl exec` has one to a container: the planet repeats what it hears.
struct Radio;

#[async_trait]
impl ExecSubresource<Planet> for Radio {
    async fn exec(&self, _: &RequestContext, planet: Planet) -> Result<Arc<dyn Exec>, Status> {
        Ok(Arc::new(Echo(planet.name_any())))
    }
}

struct Echo(String);

#[async_trait]
impl Exec for Echo {
    async fn exec(&self, session: ExecSession) -> Result<Exit, Status> {
        let (Some(mut stdin), Some(mut stdout)) = (session.stdin, session.stdout) else {
            return Err(status::bad_request("a radio needs stdin and stdout"));
        };
        while let Some(words) = stdin.chunk().await {
            let answer = [format!("{}: ", self.0).as_bytes(), &words].concat();
            if stdout.write_all(&answer).await.is_err() {
                return Ok(Exit::code(1));
            }
        }
        Ok(Exit::SUCCESS)
    }
}

fn kinds() -> ExtensionServerBuilder {
    ExtensionServer::builder()
        .kind(
            Kind::computed(Planets)
                .log("orbit", Orbit)
                .exec("radio", Radio),
        )
        .kind(Kind::<Observation>::stored_by_server().protobuf())
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
        return behind_cluster::run(&ServerFlags::parse(&args)?, interrupted()).await;
    }
    let address = args.first().map_or("127.0.0.1:8001", String::as_str);
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!(
        "serving planets and observations at http://{}",
        listener.local_addr()?
    );
    let store = ServerStore::memory();
    let server = kinds().default_store(store.store()).build()?;
    tokio::select! {
        () = server.serve(listener, interrupted()) => {}
        () = store.maintain() => {}
    }
    Ok(())
}

//! A custom API server.
//!
//! It serves:
//! - `planets`, a computed kind that is never stored;
//! - `observations`, a stored kind with all verbs, watches and server-side apply;
//! - `planets/{name}/orbit`, a streaming subresource.
//!
//! ```text
//! cargo run -p custom_apiserver
//! kubectl --server http://127.0.0.1:8001 get planets
//! kubectl --server http://127.0.0.1:8001 create -f observation.yaml --validate=false
//! kubectl --server http://127.0.0.1:8001 get observations -w
//! kubectl --server http://127.0.0.1:8001 get --raw /apis/sky.example.com/v1/planets/mars/orbit
//! ```

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response};
use kubewright_apiserver::{
    ApiServer, Body, Object,
    registry::{
        Connect, Get, Handlers, Items, List, ObjectList, RegistryBuilder, Resource, ResourceSpec,
        Table,
    },
    request::{GetOptions, ListOptions, RequestContext},
};
use kubewright_machinery::{
    Status,
    gvk::{GroupResource, GroupVersionKind},
    status,
};
use kubewright_serve::Server;
use kubewright_store::MemoryStore;
use serde_json::{Value, json};

const GROUP: &str = "sky.example.com";

/// The planets: name, orbital period in days, number of moons.
const PLANETS: [(&str, u32, u32); 4] = [
    ("mercury", 88, 0),
    ("venus", 225, 0),
    ("earth", 365, 1),
    ("mars", 687, 2),
];

/// The computed kind, which supports only `get` and `list`.
struct Planets;

fn planet((name, days, moons): (&str, u32, u32)) -> Object {
    Object::from_value(&json!({
        "apiVersion": "sky.example.com/v1",
        "kind": "Planet",
        "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
        "spec": {"yearInDays": days, "moons": moons},
    }))
}

fn find(name: &str) -> Result<(&'static str, u32, u32), Status> {
    let found = PLANETS.into_iter().find(|(known, _, _)| *known == name);
    found.ok_or_else(|| status::not_found(&GroupResource::new(GROUP, "planets"), name))
}

#[async_trait]
impl Get for Planets {
    async fn get(&self, _: &RequestContext, name: &str, _: &GetOptions) -> Result<Object, Status> {
        find(name).map(planet)
    }
}

#[async_trait]
impl List for Planets {
    async fn list(&self, _: &RequestContext, options: &ListOptions) -> Result<ObjectList, Status> {
        let planets = PLANETS
            .into_iter()
            .map(planet)
            .filter(|planet| options.selects(planet));
        Ok(ObjectList {
            resource_version: "1".into(),
            continue_token: String::new(),
            remaining: None,
            items: Items::All(planets.collect()),
        })
    }
}

/// Returns the table that `kubectl get planets` prints.
impl Table for Planets {
    fn columns(&self) -> Value {
        json!([
            {"name": "Name", "type": "string", "format": "name", "description": "The planet.", "priority": 0},
            {"name": "Year", "type": "string", "format": "", "description": "The length of its year.", "priority": 0},
            {"name": "Moons", "type": "integer", "format": "", "description": "How many moons it has.", "priority": 0},
        ])
    }

    fn cells(&self, planet: &Value) -> Vec<Value> {
        let spec = &planet["spec"];
        vec![
            planet["metadata"]["name"].clone(),
            json!(format!("{}d", spec["yearInDays"])),
            spec["moons"].clone(),
        ]
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
        let (name, days, _) = find(name)?;
        let lines = stream::iter(1..=4u32).then(move |quarter| async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok(Bytes::from(format!(
                "day {:>3}: {name} is {quarter}/4 around\n",
                days * quarter / 4
            )))
        });
        Ok(Response::new(Body::stream(lines)))
    }
}

fn server() -> ApiServer {
    let mut registry = RegistryBuilder::default();

    let computed = Arc::new(Planets);
    let planets = Resource::computed(
        ResourceSpec::new(GroupVersionKind::new(GROUP, "v1", "Planet"), "planets"),
        Handlers {
            get: Some(computed.clone()),
            list: Some(computed.clone()),
            ..Handlers::default()
        },
    );
    registry.add(
        planets
            .with_table(computed)
            .with_stream("orbit", Arc::new(Orbit)),
    );

    let observation = GroupVersionKind::new(GROUP, "v1", "Observation");
    registry.add(Resource::stored(
        ResourceSpec::new(observation, "observations").namespaced(),
        Arc::new(MemoryStore::new()),
    ));
    ApiServer::builder(registry.build()).build()
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8001".into());
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!(
        "serving planets and observations at http://{}",
        listener.local_addr()?
    );
    let stop = async {
        // Without a signal handler the server cannot be stopped gracefully; it keeps serving.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    Server::new(listener).serve(server(), stop).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(path: &str) -> (u16, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = server().handle(request).await;
        let code = response.status().as_u16();
        let bytes = response
            .into_body()
            .collect_up_to(1 << 20)
            .await
            .unwrap()
            .unwrap();
        (code, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn computed_planets_are_listed_and_selected() {
        let (code, body) = get("/apis/sky.example.com/v1/planets").await;
        let list: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((code, list["items"].as_array().unwrap().len()), (200, 4));
        let (_, body) =
            get("/apis/sky.example.com/v1/planets?fieldSelector=metadata.name=mars").await;
        let list: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(list["items"][0]["spec"]["moons"], 2);
        assert_eq!(list["items"].as_array().unwrap().len(), 1);
        assert_eq!(get("/apis/sky.example.com/v1/planets/pluto").await.0, 404);
    }

    #[tokio::test]
    async fn kinds_without_a_type_table_have_no_protobuf() {
        for kind in ["planets", "observations"] {
            let path = format!("/apis/sky.example.com/v1/{kind}");
            let request = Request::get(path)
                .header("accept", "application/vnd.kubernetes.protobuf")
                .body(Body::empty())
                .unwrap();
            assert_eq!(server().handle(request).await.status(), 406, "{kind}");
        }
    }

    #[tokio::test]
    async fn the_orbit_of_a_planet_is_streamed() {
        let (code, body) = get("/apis/sky.example.com/v1/planets/mars/orbit").await;
        assert_eq!(code, 200);
        assert_eq!(body.lines().count(), 4);
        assert!(body.ends_with("mars is 4/4 around\n"));
    }
}

//! Requests to the server, without a socket.

use http::Request;
use kubewright::apiserver::Body;
use serde_json::{Value, json};

use super::*;

const GROUP: &str = "/apis/sky.example.com/v1";

async fn send(server: &ExtensionServer, request: Request<Body>) -> (u16, String) {
    let response = server.handle(request).await;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect_up_to(1 << 20).await;
    let bytes = bytes.unwrap().unwrap();
    (code, String::from_utf8_lossy(&bytes).into_owned())
}

fn server() -> ExtensionServer {
    let store = ServerStore::memory().store();
    kinds().default_store(store).build().unwrap()
}

async fn get(path: &str) -> (u16, String) {
    let request = Request::get(path).body(Body::empty()).unwrap();
    send(&server(), request).await
}

#[tokio::test]
async fn computed_planets_are_listed_and_selected() {
    let (code, body) = get(&format!("{GROUP}/planets")).await;
    let list: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((code, list["items"].as_array().unwrap().len()), (200, 4));
    let (_, body) = get(&format!("{GROUP}/planets?fieldSelector=metadata.name=mars")).await;
    let list: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(list["items"][0]["spec"]["moons"], 2);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(get(&format!("{GROUP}/planets/pluto")).await.0, 404);
}

#[tokio::test]
async fn planets_can_only_be_read() {
    let (_, body) = get(GROUP).await;
    let list: Value = serde_json::from_str(&body).unwrap();
    let planets = list["resources"].as_array().unwrap().iter();
    let planets = planets.clone().find(|r| r["name"] == "planets").unwrap();
    assert_eq!(planets["verbs"], json!(["get", "list"]));
    let request = Request::delete(format!("{GROUP}/planets/mars"));
    let request = request.body(Body::empty()).unwrap();
    assert_eq!(send(&server(), request).await.0, 405);
}

#[tokio::test]
async fn kinds_with_numbered_fields_have_protobuf() {
    for (kind, expected) in [("planets", 406), ("observations", 200)] {
        let request = Request::get(format!("{GROUP}/{kind}"))
            .header("accept", "application/vnd.kubernetes.protobuf")
            .body(Body::empty())
            .unwrap();
        let (code, _) = send(&server(), request).await;
        assert_eq!(code, expected, "{kind}");
    }
}

#[tokio::test]
async fn observations_are_validated_and_stored() {
    let server = server();
    let path = format!("{GROUP}/namespaces/default/observations");
    for (magnitude, expected) in [(30.0, 422), (-4.0, 201)] {
        let observation = json!({
            "apiVersion": "sky.example.com/v1",
            "kind": "Observation",
            "metadata": {"name": "evening"},
            "spec": {"planet": "venus", "magnitude": magnitude},
        });
        let request = Request::post(&path)
            .header("content-type", "application/json")
            .body(Body::from(observation.to_string()))
            .unwrap();
        let (code, body) = send(&server, request).await;
        assert_eq!(code, expected, "{body}");
    }
    let request = Request::get(format!("{path}?fieldSelector=spec.planet=venus"));
    let (_, body) = send(&server, request.body(Body::empty()).unwrap()).await;
    let list: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(list["items"][0]["metadata"]["name"], "evening");
}

#[tokio::test]
async fn the_orbit_of_a_planet_is_streamed() {
    let (code, body) = get(&format!("{GROUP}/planets/mars/orbit")).await;
    assert_eq!(code, 200);
    assert_eq!(body.lines().count(), 4);
    assert!(body.ends_with("mars is 4/4 around\n"));
}

#[tokio::test]
async fn the_radio_needs_an_upgrade() {
    let (code, body) = get(&format!(
        "{GROUP}/planets/mars/radio?stdin=true&stdout=true"
    ))
    .await;
    assert_eq!(code, 400);
    assert!(body.contains("Upgrade request required"), "{body}");
    assert_eq!(get(&format!("{GROUP}/planets/pluto/radio")).await.0, 404);
}

/// Returns what the README shows below a command.
fn shown(command: &str) -> String {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once(command).unwrap();
    let (_, output) = rest.split_once('\n').unwrap();
    let lines = output.lines();
    let lines = lines.take_while(|line| !line.starts_with("$ ") && !line.starts_with("```"));
    lines.fold(String::new(), |all, line| all + line + "\n")
}

/// Returns the rows of a table as kubectl prints them.
fn printed(table: &Value) -> String {
    let text = |cell: &Value| {
        cell.as_str()
            .map_or_else(|| cell.to_string(), str::to_owned)
    };
    let columns = table["columnDefinitions"].as_array().unwrap();
    let is_shown = |column: &Value| column["priority"] == 0;
    let headings = columns
        .iter()
        .map(|column| text(&column["name"]).to_uppercase());
    let mut rows: Vec<Vec<String>> = vec![headings.collect()];
    for row in table["rows"].as_array().unwrap() {
        rows.push(row["cells"].as_array().unwrap().iter().map(text).collect());
    }
    let width = |i: usize| {
        rows.iter()
            .map(|row| row[i].len())
            .max()
            .unwrap_or_default()
            + 3
    };
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .enumerate()
            .filter(|(i, _)| is_shown(&columns[*i]));
        let line: String = cells
            .map(|(i, cell)| format!("{cell:<0$}", width(i)))
            .collect();
        line.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[tokio::test]
async fn the_readme_shows_the_planets_and_an_orbit() {
    let request = Request::get(format!("{GROUP}/planets"))
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Body::empty())
        .unwrap();
    let (_, body) = send(&server(), request).await;
    let table = serde_json::from_str(&body).unwrap();
    let kubectl = "kubectl --server http://127.0.0.1:8001 get";
    assert_eq!(printed(&table), shown(&format!("$ {kubectl} planets")));
    let path = format!("{GROUP}/planets/mars/orbit");
    let (_, orbit) = get(&path).await;
    assert_eq!(orbit, shown(&format!("$ {kubectl} --raw {path}")));
}

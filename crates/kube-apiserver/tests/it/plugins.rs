//! Plugins of one's own, and what becomes of what they do to objects of declared kinds.

use std::sync::Arc;

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_machinery::{Status, gvk::GroupResource, status};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::client::Client;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// Puts a known and an unknown field into every widget, takes away one that has a default, and remembers what it saw.
#[derive(Default)]
struct Meddling {
    seen: Mutex<Vec<(Operation, String)>>,
}

#[boxed_async]
impl Plugin for Meddling {
    async fn mutate(
        &self,
        cx: &RequestContext,
        _attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        if let Some(object) = object.filter(|_| cx.info.resource == "widgets") {
            object["spec"]["known"] = json!("put here");
            object["spec"]["unknown"] = json!({"deep": [1]});
            if let Some(spec) = object["spec"].as_object_mut() {
                spec.remove("colour");
            }
        }
        Ok(())
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        if cx.info.resource != "widgets" {
            return Ok(());
        }
        let seen = (attributes.operation, attributes.name.to_owned());
        self.seen.lock().push(seen);
        match object {
            Some(object) if object["spec"]["known"] == "refuse me" => Err(status::forbidden(
                &GroupResource::new("example.com", "widgets"),
                attributes.name,
                "no",
            )),
            _ => Ok(()),
        }
    }
}

async fn meddled() -> (Client, Arc<Meddling>) {
    let plugin = Arc::new(Meddling::default());
    let client = Client::of(KubeApiServer::builder().plugin(plugin.clone())).await;
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "known": {"type": "string"},
        "colour": {"type": "string", "default": "blue"},
        "inner": {"type": "object", "default": {}, "properties": {"n": {"type": "integer", "default": 3}}},
    }}}});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let (code, answer) = client.post(CRDS, &crd).await;
    assert_eq!(code, 201, "{answer}");
    (client, plugin)
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"colour": "red"},
    })
}

#[tokio::test]
async fn changes_of_plugins_are_pruned_and_defaulted() {
    let (client, _) = meddled().await;
    let expected = json!({"colour": "blue", "inner": {"n": 3}, "known": "put here"});
    let (code, created) = client.post(WIDGETS, &widget("a")).await;
    assert_eq!((code, &created["spec"]), (201, &expected), "{created}");
    let path = format!("{WIDGETS}/a");
    let change = json!({"spec": {"colour": "green"}});
    let (code, patched) = client.patch(&path, &change).await;
    assert_eq!((code, &patched["spec"]), (200, &expected), "{patched}");
    assert_eq!(client.get(&path).await["spec"], expected);
    let (code, applied) = client
        .apply(&format!("{WIDGETS}/b?fieldManager=m"), &widget("b"))
        .await;
    assert_eq!((code, &applied["spec"]), (201, &expected), "{applied}");
}

#[tokio::test]
async fn deletes_of_clients_are_judged_and_those_of_the_server_are_not() {
    let (client, plugin) = meddled().await;
    for name in ["a", "b"] {
        client.post(WIDGETS, &widget(name)).await;
    }
    let seen = || std::mem::take(&mut *plugin.seen.lock());
    seen();
    client.delete(&format!("{WIDGETS}/a")).await;
    assert_eq!(seen(), [(Operation::Delete, "a".to_owned())]);
    client.delete(&format!("{CRDS}/widgets.example.com")).await;
    for _ in 0..1_000 {
        let crd = client.get(&format!("{CRDS}/widgets.example.com")).await;
        if crd["code"] == 404 {
            assert_eq!(seen(), []);
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the definition stays");
}

/// Appends its name and the round to a list in every ConfigMap, and requests a second round if it is asked to.
struct Signing {
    name: &'static str,
    requests: bool,
    seen: Arc<Mutex<Vec<String>>>,
}

#[boxed_async]
impl Plugin for Signing {
    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(pass) = attributes
            .reinvocation
            .filter(|_| cx.info.resource == "configmaps")
        else {
            return Ok(());
        };
        let entry = match object {
            Some(_) => format!("{} in round {}", self.name, pass.round()),
            None => format!("{} {:?}", self.name, attributes.operation),
        };
        self.seen.lock().push(entry);
        if self.requests {
            pass.request();
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_plugin_can_request_one_more_mutating_pass_of_all_plugins() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let plugin = |name, requests| {
        Arc::new(Signing {
            name,
            requests,
            seen: seen.clone(),
        })
    };
    let builder = KubeApiServer::builder().plugin(plugin("first", false));
    let client = Client::of(builder.plugin(plugin("second", true))).await;
    seen.lock().clear();
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    let (code, answer) = client.post(maps, &map).await;
    assert_eq!(code, 201, "{answer}");
    let rounds = [
        "first in round 0",
        "second in round 0",
        "first in round 1",
        "second in round 1",
    ];
    assert_eq!(std::mem::take(&mut *seen.lock()), rounds);
    client.delete(&format!("{maps}/m")).await;
    let deletes = [
        "first Delete",
        "second Delete",
        "first Delete",
        "second Delete",
    ];
    assert_eq!(std::mem::take(&mut *seen.lock()), deletes);
}

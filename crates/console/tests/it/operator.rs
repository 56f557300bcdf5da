//! The operator of the program: its metrics and commands to its controllers.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;
use kubewright_cluster::Cluster;
use kubewright_console::{Console, LocalOperator};
use kubewright_controller::ControllerCommand;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::scene::Scene;

const CONTROLLERS: &str = "/kubewright/v1/console/controllers";
const METRICS: &str = "/kubewright/v1/console/metrics";

/// An operator with one controller.
#[derive(Default)]
struct Crew {
    commands: Mutex<Vec<ControllerCommand>>,
}

#[async_trait]
impl LocalOperator for Crew {
    async fn metrics(&self) -> Option<String> {
        Some(
            "# TYPE workqueue_depth gauge\nworkqueue_depth{name=\"captain\"} 3\n\
             # TYPE process_open_fds gauge\nprocess_open_fds 12\n"
                .to_owned(),
        )
    }

    async fn command(&self, command: ControllerCommand) -> Result<(), String> {
        if command.controller() != "captain" {
            return Err(format!("there is no controller {:?}", command.controller()));
        }
        self.commands.lock().push(command);
        Ok(())
    }
}

async fn scene(operator: Option<Arc<Crew>>) -> (Cluster, Scene) {
    let cluster = Cluster::builder().start().await.unwrap();
    let mut console = Console::builder(cluster.direct_client());
    if let Some(operator) = operator {
        console = console.operator(operator);
    }
    let console = console.start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    (cluster, Scene::of(console))
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_are_paused_resumed_and_given_keys() {
    let crew = Arc::new(Crew::default());
    let (_cluster, scene) = scene(Some(crew.clone())).await;
    let commands = [
        json!({"do": "pause", "controller": "captain"}),
        json!({"do": "enqueue", "controller": "captain", "key": "default/ahab"}),
        json!({"do": "resume", "controller": "captain"}),
    ];
    for command in &commands {
        let (code, answer) = scene.call(Method::POST, CONTROLLERS, Some(command)).await;
        assert_eq!((code, answer), (200, json!({})));
    }
    let taken = std::mem::take(&mut *crew.commands.lock());
    assert_eq!(json!(taken), json!(commands));

    for wrong in [
        json!({"do": "pause", "controller": "nobody"}),
        json!({"do": "dance", "controller": "captain"}),
        json!({"do": "enqueue", "controller": "captain"}),
    ] {
        let (code, answer) = scene.call(Method::POST, CONTROLLERS, Some(&wrong)).await;
        assert_eq!(code, 400, "{answer}");
    }
    assert_eq!(scene.get(CONTROLLERS).await.0, 404);
    assert!(crew.commands.lock().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_operator_there_are_no_commands() {
    let (_cluster, scene) = scene(None).await;
    let command = json!({"do": "pause", "controller": "captain"});
    let (code, _) = scene.call(Method::POST, CONTROLLERS, Some(&command)).await;
    assert_eq!(code, 404);
    let (_, session) = scene.get("/kubewright/v1/console/session").await;
    assert_eq!(session["operator"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_need_the_token() {
    let crew = Arc::new(Crew::default());
    let (_cluster, scene) = scene(Some(crew.clone())).await;
    let command = json!({"do": "pause", "controller": "captain"});
    let mut request = scene.request(Method::POST, CONTROLLERS, Some(&command));
    request.headers_mut().remove("authorization");
    assert_eq!(scene.code(request).await, 401);
    assert!(crew.commands.lock().is_empty());
}

/// Returns the value of a line in an answer.
fn value(metrics: &Value, of: impl Fn(&Value) -> bool) -> Option<f64> {
    let number = metrics["lines"].as_array()?.iter().position(of)?;
    metrics["samples"][0][1][number].as_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_of_the_operator_and_the_server_are_plotted() {
    let (_cluster, scene) = scene(Some(Arc::default())).await;
    let (code, metrics) = scene.get(METRICS).await;
    assert_eq!(code, 200, "{metrics}");
    let of_captain =
        |line: &Value| line["name"] == "captain" && line["title"] == "Depth of the queue";
    assert_eq!(value(&metrics, of_captain), Some(3.0));
    let of_operator =
        |line: &Value| line["section"] == "operator" && line["title"] == "process_open_fds";
    assert_eq!(value(&metrics, of_operator), Some(12.0));
    let of_server = |line: &Value| {
        line["section"] == "server" && line["title"] == "apiserver_current_inflight_requests"
    };
    assert!(value(&metrics, of_server).is_some(), "{metrics}");
}

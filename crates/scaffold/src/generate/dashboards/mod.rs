//! Generates dashboards for Grafana, alert rules and a ServiceMonitor: `config/observability`.
//!
//! The queries use the names of controller-runtime and client-go where there are such, and those of Kubewright elsewhere. They work
//! with and without the labels `namespace` and `pod`.

mod panels;
mod rules;

use serde_json::{Value, json};

use self::panels::{Panel, controllers, resources};
use super::{File, manager::pod_labels, naming::Naming, settings::Settings, stamp::Language, yaml};
use crate::Error;

/// The directory.
const DIRECTORY: &str = "config/observability";

/// The size of a panel: two are side by side.
const WIDTH: usize = 12;
const HEIGHT: usize = 8;

/// Returns the files. A ServiceMonitor needs a metrics port.
pub(super) fn files(settings: &Settings) -> Result<Vec<File>, Error> {
    let name = &settings.name;
    let mut files = vec![
        dashboard(name, "controllers", "Controllers", &controllers()),
        dashboard(name, "resources", "Resources", &resources()),
        File::yaml(
            format!("{DIRECTORY}/rules.yaml"),
            yaml::documents([&rules::rules(settings)])?,
        ),
    ];
    if settings.metrics_port.is_some() {
        files.push(File::yaml(
            format!("{DIRECTORY}/servicemonitor.yaml"),
            yaml::documents([&service_monitor(settings)])?,
        ));
    }
    Ok(files)
}

fn dashboard(project: &str, file: &str, title: &str, panels: &[Panel]) -> File {
    let placed = panels.iter().enumerate().map(|(n, panel)| {
        let place = json!({
            "h": HEIGHT,
            "w": WIDTH,
            "x": (n % 2) * WIDTH,
            "y": (n / 2) * HEIGHT,
        });
        panel.to_json(n + 1, place)
    });
    let dashboard = json!({
        "title": format!("{project}: {title}"),
        "uid": format!("{project}-{file}").chars().take(40).collect::<String>(),
        "tags": ["kubewright", project],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": [
            {
                "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
                "current": {}, "hide": 0,
            },
            variable("namespace", "Namespace", "label_values(controller_runtime_reconcile_total, namespace)"),
            variable("pod", "Pod", "label_values(controller_runtime_reconcile_total{namespace=~\"$namespace\"}, pod)"),
        ]},
        "panels": placed.collect::<Vec<_>>(),
    });
    let text = format!("{dashboard:#}\n");
    File::marked(format!("{DIRECTORY}/{file}.json"), Language::Json, &text)
}

/// Returns a variable that selects everything at first, also what has no such label.
fn variable(name: &str, label: &str, query: &str) -> Value {
    json!({
        "name": name, "label": label, "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": query, "refresh": 2, "includeAll": true, "allValue": ".*", "multi": true,
        "current": {"text": "All", "value": "$__all"},
    })
}

fn service_monitor(settings: &Settings) -> Value {
    let naming = Naming::whole(&settings.name, settings.namespaced);
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {
            "name": naming.name("controller-manager-metrics-monitor"),
            "namespace": naming.namespace,
            "labels": pod_labels(&naming),
        },
        "spec": {
            // The operator generates its certificate itself, and authenticates Prometheus by its token.
            "endpoints": [{
                "path": "/metrics", "port": "https", "scheme": "https",
                "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                "tlsConfig": {"insecureSkipVerify": true},
            }],
            "selector": {"matchLabels": pod_labels(&naming)},
        },
    })
}

//! [`Own`]: the paths that the console itself serves, below `/kubewright/v1/console/`.

use std::{path::PathBuf, sync::Arc};

use http::StatusCode;
use kubewright_controller::ControllerCommand;
use serde_json::{Value, json};

use crate::{
    answer, documents, forward, kinds, lab::Laboratory, metrics::Sampler, operator::LocalOperator,
    perturbations, sessions, tree,
};

/// The paths that the console itself serves.
const PATH: &str = "/kubewright/v1/console/";

/// The data of the pages that is not part of the cluster's API.
pub(crate) struct Own {
    pub(crate) client: kube::Client,
    pub(crate) title: String,
    pub(crate) is_local: bool,
    /// The experiments on the cluster, if it runs in this process and they are allowed.
    pub(crate) lab: Option<Laboratory>,
    pub(crate) metrics: Sampler,
    /// The operator whose controllers can be paused, if it belongs to this program.
    pub(crate) operator: Option<Arc<dyn LocalOperator>>,
    /// The directory of saved results of perturbed tests.
    pub(crate) perturbations: Option<PathBuf>,
    /// The directory of saved sessions.
    pub(crate) sessions: Option<PathBuf>,
}

type Answered = Result<Value, (StatusCode, String)>;

/// Returns the part of a path that the console itself serves.
pub(crate) fn own_path(path: &str) -> Option<&str> {
    path.strip_prefix(PATH)
}

impl Own {
    /// Answers a request to a path of the console.
    pub(crate) async fn answer(
        &self,
        method: &str,
        what: &str,
        query: &str,
        body: &[u8],
    ) -> Answered {
        let client = &self.client;
        match (method, what) {
            ("GET", "session") => Ok(self.session().await),
            ("GET", "kinds") => kinds::kinds(client).await,
            ("GET", "tree") => tree::tree(client, query).await,
            ("GET", "metrics") => self.metrics.newest().await,
            ("GET", "metrics/history") => Ok(self.metrics.history()),
            ("GET", "perturbations") => Ok(perturbations::reports(self.perturbations.as_deref())),
            ("POST", "parse") => documents::parse(body),
            ("POST", "controllers") => self.command(body).await,
            (method, "lab" | "lab/compare") => self.experiment(method, what, query, body).await,
            ("GET", _) if what.starts_with("sessions/") => {
                let name = what.trim_start_matches("sessions/");
                sessions::session(self.sessions.as_deref(), name)
            }
            _ => Err((StatusCode::NOT_FOUND, format!("there is no {what:?} here"))),
        }
    }

    /// Gets a document from the console or from the cluster. Errors are returned as their `Status`.
    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        let (plain, query) = path.split_once('?').unwrap_or((path, ""));
        let Some(what) = own_path(plain) else {
            return forward::get(&self.client, path).await;
        };
        match self.answer("GET", what, query, &[]).await {
            Ok(value) => (StatusCode::OK, value),
            Err((code, message)) => (code, answer::status(code, answer::reason(code), &message)),
        }
    }

    /// Describes this console: its title, its cluster, and the features of the cluster.
    async fn session(&self) -> Value {
        let version = forward::get_json(&self.client, "/version").await;
        let ledger = forward::get_json(&self.client, "/kubewright/v1").await;
        self.metrics.start();
        let sessions = self.sessions.as_deref().map(sessions::names);
        json!({
            "title": self.title,
            "local": self.is_local,
            "lab": self.lab.is_some(),
            "perturbations": self.perturbations.is_some(),
            "operator": self.operator.is_some(),
            "sessions": sessions.unwrap_or_default(),
            "console": env!("CARGO_PKG_VERSION"),
            "version": version.unwrap_or(Value::Null),
            "ledger": ledger.unwrap_or(Value::Null),
        })
    }

    /// Passes a command on to the operator, if it belongs to this program.
    async fn command(&self, body: &[u8]) -> Answered {
        let Some(operator) = &self.operator else {
            let message = "this console has no operator: it runs elsewhere";
            return Err((StatusCode::NOT_FOUND, message.to_owned()));
        };
        let command: ControllerCommand = serde_json::from_slice(body)
            .map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
        let done = operator.command(command).await;
        done.map_err(|message| (StatusCode::BAD_REQUEST, message))?;
        Ok(json!({}))
    }

    /// Serves the lab, if there is one.
    async fn experiment(&self, method: &str, what: &str, query: &str, body: &[u8]) -> Answered {
        let Some(lab) = &self.lab else {
            let message = "this console has no lab: the cluster runs elsewhere, or without --lab";
            return Err((StatusCode::NOT_FOUND, message.to_owned()));
        };
        match (method, what) {
            ("GET", "lab") => Ok(lab.state().await),
            ("POST", "lab") => lab.act(body).await,
            ("GET", _) => lab.compare(&self.client, query).await,
            _ => {
                let message = "the method is not allowed".to_owned();
                Err((StatusCode::METHOD_NOT_ALLOWED, message))
            }
        }
    }
}

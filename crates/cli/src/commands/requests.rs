//! `kubewright requests`: the requests that wrote, or those that were refused.

use std::time::Duration;

use clap::Args;
use kubewright_ledger::{Denial, Page, Request};
use serde_json::Value;

use crate::{
    cluster::{
        Cluster,
        ledger::{LedgerClient, LedgerQuery},
    },
    output::{Output, say, say_line},
    project::session::or_session,
};

/// The interval at which new requests are looked for.
const POLL: Duration = Duration::from_millis(300);

#[derive(Args)]
pub(crate) struct Requests {
    /// Show refused requests, with the rules that would allow them
    #[arg(long)]
    denied: bool,

    /// Field manager that made the requests
    #[arg(long, value_name = "MANAGER")]
    by: Option<String>,

    /// Plural name of the resource
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,

    /// Namespace of the objects [default: all]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// Maximum number of requests to begin with
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    limit: usize,

    /// Continue with new requests until Ctrl-C
    #[arg(short, long)]
    watch: bool,

    #[command(flatten)]
    cluster: Cluster,

    #[command(flatten)]
    output: Output,
}

impl Requests {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let client = or_session(&self.cluster).client().await?;
        let ledger = LedgerClient::new(&client);
        let endpoint = match self.denied {
            true => "denials",
            false => "requests",
        };
        let mut after: Option<u64> = None;
        loop {
            let query = LedgerQuery::default()
                .with_some("manager", self.by.clone())
                .with_some("resource", self.resource.clone())
                .with_some("namespace", self.namespace.clone())
                .with("limit", self.limit)
                .with_some("after", after);
            let answer = ledger.read(endpoint, query).await?;
            after = Some(answer["next"].as_u64().unwrap_or_default());
            self.show(answer)?;
            if !self.watch {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn show(&self, answer: Value) -> anyhow::Result<()> {
        if self.output.is_json() {
            // While watching, one item on each line.
            if !self.watch {
                return self.output.value(&answer);
            }
            let items = answer["items"].as_array().into_iter().flatten();
            for item in items {
                say_line(&item.to_string())?;
            }
            return Ok(());
        }
        let missed = answer["missed"].as_u64().unwrap_or_default();
        let mut text = String::new();
        if missed > 0 {
            text += &format!("{missed} requests are forgotten\n");
        }
        match self.denied {
            true => {
                let page: Page<Denial> = serde_json::from_value(answer)?;
                text.extend(page.items.iter().map(denied));
            }
            false => {
                let page: Page<Request> = serde_json::from_value(answer)?;
                text.extend(page.items.iter().map(wrote));
            }
        }
        say(&text)
    }
}

fn wrote(request: &Request) -> String {
    let revisions: Vec<String> = request
        .commits
        .iter()
        .map(|commit| commit.revision.to_string())
        .collect();
    let result = match (request.unchanged, revisions.is_empty()) {
        (true, _) => " unchanged".to_owned(),
        (false, true) => String::new(),
        (false, false) => format!(" revision {}", revisions.join(", ")),
    };
    let (time, code) = (request.time, request.code);
    let took = request.duration_seconds * 1e3;
    format!("{time:.3}  {code}{result}  {took:.2} ms  {request}\n")
}

fn denied(denial: &Denial) -> String {
    let request = &denial.request;
    let mut text = format!("{:.3}  {denial}\n", request.time);
    if let Some(webhook) = &denial.webhook {
        text += &format!("    refused by the webhook {webhook}\n");
    }
    if let Some(rule) = &denial.rule {
        text += "    add to the operator:\n";
        text.extend(
            rule.declaration
                .lines()
                .map(|line| format!("        {line}\n")),
        );
        text += "    or to a role:\n";
        text.extend(rule.yaml.lines().map(|line| format!("        {line}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request() -> Value {
        json!({
            "number": 1, "time": "2026-01-01T00:00:00Z", "durationSeconds": 0.001, "verb": "list", "group": "",
            "resource": "secrets", "namespace": "shop", "name": "", "user": "bob", "code": 403, "commits": [],
        })
    }

    #[test]
    fn a_denial_has_the_rule_to_add() {
        let mut value = request();
        value["reason"] = "Forbidden".into();
        value["message"] = "no".into();
        value["rule"] = json!({
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}],
            "yaml": "- apiGroups: [\"\"]\n", "declaration": "operator.rule();",
        });
        let denial: Denial = serde_json::from_value(value).unwrap();
        let text = denied(&denial);
        assert!(text.contains("        operator.rule();\n"), "{text}");
        assert!(text.ends_with("        - apiGroups: [\"\"]\n"), "{text}");
    }

    #[test]
    fn a_write_has_its_revisions() {
        let mut value = request();
        value["commits"] =
            json!([{"revision": 7, "change": "updated", "resource": "secrets", "name": "a"}]);
        let request: Request = serde_json::from_value(value).unwrap();
        assert!(
            wrote(&request).contains(" revision 7 "),
            "{}",
            wrote(&request)
        );
    }
}

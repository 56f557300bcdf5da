//! Checks of the cluster: connection, CRDs, and the permissions of the operator.

use futures_util::{StreamExt, stream};
use k8s_openapi::{
    api::authorization::v1::{
        ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Api, Client, ResourceExt, api::PostParams};
use kubewright_controller::Apply;
use kubewright_operator::{Model, PolicyRule};
use serde_json::Value;

use super::{Finding, aggregated, registered, running};
use crate::cluster::{Cluster, one_line};

/// The number of concurrent permission checks.
const AT_ONCE: usize = 8;

/// The maximum number of listed missing permissions.
const NAMED: usize = 5;

pub(super) async fn findings(flags: &Cluster, described: Option<&Model>) -> Vec<Finding> {
    let client = match flags.client().await {
        Ok(client) => client,
        // Many commands work without a cluster.
        Err(refusal) => return vec![Finding::warning("cluster", refusal.to_string(), "")],
    };
    let version = client.apiserver_version().await;
    let version = version.map_or_else(|_| String::new(), |info| info.git_version);
    let mut findings = vec![Finding::good("cluster", format!("reachable, {version}"))];
    if let Some(described) = described {
        for definition in &described.crds {
            findings.push(up_to_date(&client, &described.name, definition).await);
        }
        findings.push(permissions(&client, described).await);
    }
    findings.extend(registered::findings(&client, described).await);
    findings.extend(aggregated::findings(&client, described).await);
    findings.extend(running::findings(&client).await);
    findings
}

/// Returns whether applying the CRD would change it.
async fn up_to_date(client: &Client, manager: &str, definition: &Value) -> Finding {
    let read = serde_json::from_value::<CustomResourceDefinition>(definition.clone());
    let definition = match &read {
        Ok(definition) => definition,
        Err(error) => return Finding::bad("definition", one_line(error), ""),
    };
    let name = definition.name_any();
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let advice = "run `kubewright install`";
    let unknown = |error: kube::Error| Finding::warning("definition", one_line(&error), "");
    let there = match api.get_opt(&name).await {
        Ok(Some(there)) => there,
        Ok(None) => {
            let found = format!("{name} is not installed");
            return Finding::warning("definition", found, advice);
        }
        Err(error) => return unknown(error),
    };
    let apply = Apply::new(manager).force().dry_run();
    match apply.object(&api, definition).await {
        Ok(would) if same(&would, &there) => {
            Finding::good("definition", format!("{name} is up to date"))
        }
        Ok(_) => {
            let found = format!("{name} differs from that of the operator");
            Finding::warning("definition", found, advice)
        }
        Err(error) => unknown(error),
    }
}

/// Compares two CRDs except for their conversion, which a deployed or running operator determines.
fn same(one: &CustomResourceDefinition, other: &CustomResourceDefinition) -> bool {
    let [mut one, mut other] = [one, other].map(|it| it.spec.clone());
    (one.conversion, other.conversion) = (None, None);
    one == other
}

/// Checks that the current user has the permissions of the operator.
async fn permissions(client: &Client, described: &Model) -> Finding {
    let mut asked: Vec<Asked> = described.rules.iter().flat_map(Asked::of).collect();
    asked.sort();
    asked.dedup();
    let all = asked.len();
    let answers = stream::iter(asked).map(async |one| (allowed(client, &one).await, one));
    let answers: Vec<_> = answers.buffered(AT_ONCE).collect().await;
    let mut missing = Vec::new();
    for (answer, asked) in answers {
        match answer {
            Ok(true) => {}
            Ok(false) => missing.push(asked.words()),
            Err(error) => return Finding::warning("permissions", one_line(&error), ""),
        }
    }
    if missing.is_empty() {
        return Finding::good(
            "permissions",
            format!("all {all} permissions of the operator"),
        );
    }
    let more = match missing.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    missing.truncate(NAMED);
    let found = format!("missing: {}{more}", missing.join(", "));
    Finding::bad("permissions", found, "request them, or use another context")
}

/// A permission of the operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    group: String,
    resource: String,
    verb: String,
    namespace: Option<String>,
}

impl Asked {
    /// Expands a rule into permissions. Non-resource URLs and named objects are skipped.
    fn of(rule: &PolicyRule) -> Vec<Self> {
        let mut all = Vec::new();
        for group in &rule.api_groups {
            for resource in &rule.resources {
                all.extend(rule.verbs.iter().map(|verb| Self {
                    group: group.clone(),
                    resource: resource.clone(),
                    verb: verb.clone(),
                    namespace: rule.namespace.clone(),
                }));
            }
        }
        all
    }

    /// Formats a permission: `create deployments.apps`.
    fn words(&self) -> String {
        let Self {
            group,
            resource,
            verb,
            ..
        } = self;
        match group.as_str() {
            "" => format!("{verb} {resource}"),
            group => format!("{verb} {resource}.{group}"),
        }
    }
}

async fn allowed(client: &Client, asked: &Asked) -> kube::Result<bool> {
    let (resource, subresource) = match asked.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (asked.resource.as_str(), None),
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some(asked.group.clone()),
                resource: Some(resource.to_owned()),
                subresource,
                verb: Some(asked.verb.clone()),
                namespace: asked.namespace.clone(),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answer = api.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

//! Findings about APIServices: those of the operator, and those of others whose servers do not answer.

use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::{
    APIService, APIServiceCondition,
};
use kube::{Api, Client, ResourceExt};
use kubewright_operator::Model;

use super::Finding;
use crate::{cluster::one_line, operator::webhooks::api_service_names};

const WHAT: &str = "apiservice";

/// Returns findings about the APIServices of a cluster.
pub(super) async fn findings(client: &Client, described: Option<&Model>) -> Vec<Finding> {
    let own = described.map(api_service_names).unwrap_or_default();
    let api: Api<APIService> = Api::all(client.clone());
    let services = match api.list(&Default::default()).await {
        Ok(services) => services.items,
        // Few users may list them.
        Err(_) if own.is_empty() => return Vec::new(),
        Err(error) => return vec![Finding::warning(WHAT, one_line(&error), "")],
    };
    let mut findings: Vec<Finding> = own
        .iter()
        .map(|name| of_operator(name, services.iter().find(|it| it.name_any() == *name)))
        .collect();
    let others = services.iter().filter(|it| !own.contains(&it.name_any()));
    findings.extend(others.filter_map(of_others));
    findings
}

/// Returns the finding about an APIService of the operator.
fn of_operator(name: &str, service: Option<&APIService>) -> Finding {
    let Some(service) = service else {
        let found = format!("{name} is not registered");
        let advice = "run the operator with `kubewright run` or `dev`, or `kubewright deploy`";
        return Finding::warning(WHAT, found, advice);
    };
    if reference(service).is_none() {
        let found =
            format!("{name} is served by the API server itself, so the operator gets no requests");
        let advice = "delete the CRDs of its group version, then register it again";
        return Finding::bad(WHAT, found, advice);
    }
    match unavailable(service) {
        None => Finding::good(WHAT, format!("{name} is available")),
        Some(why) => Finding::bad(
            WHAT,
            format!("{name} is not available: {why}"),
            "check that the operator runs and that the Service leads to it",
        ),
    }
}

/// Returns the finding about an APIService of somebody else, if its server does not answer.
fn of_others(service: &APIService) -> Option<Finding> {
    let why = unavailable(service)?;
    Some(Finding::warning(
        WHAT,
        format!("{} is not available: {why}", service.name_any()),
        "until it is, namespaces are not deleted; delete it if nobody serves it any more",
    ))
}

/// Returns the Service that an APIService leads to, if the API server does not serve it itself.
fn reference(service: &APIService) -> Option<&str> {
    let spec = service.spec.as_ref()?;
    spec.service.as_ref()?.name.as_deref()
}

/// Returns the reason why the server of an APIService is not available, unless it is.
fn unavailable(service: &APIService) -> Option<String> {
    reference(service)?;
    let status = service.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let mut conditions = conditions.unwrap_or_default().iter();
    match conditions.find(|it| it.type_ == "Available") {
        Some(condition) if condition.status == "True" => None,
        Some(condition) => Some(one_line(&reason(condition))),
        None => Some("it was not checked yet".to_owned()),
    }
}

fn reason(condition: &APIServiceCondition) -> String {
    let message = condition.message.as_deref().filter(|it| !it.is_empty());
    let reason = condition.reason.as_deref().unwrap_or("no reason was given");
    message.unwrap_or(reason).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn service(spec: Value, conditions: Value) -> APIService {
        let object = json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": "v1.sky.example.com"},
            "spec": {"groupPriorityMinimum": 1, "versionPriority": 1, "service": spec},
            "status": {"conditions": conditions},
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn only_servers_that_do_not_answer_are_reported() {
        let remote = json!({"namespace": "a", "name": "sky"});
        let condition = |status: &str| {
            json!([{
                "type": "Available", "status": status, "reason": "FailedDiscoveryCheck",
                "message": "no response\nfrom it",
            }])
        };
        let down = service(remote.clone(), condition("False"));
        assert_eq!(unavailable(&down).unwrap(), "no response from it");
        assert!(of_others(&down).is_some());
        let up = service(remote.clone(), condition("True"));
        assert_eq!(unavailable(&up), None);
        assert_eq!(
            of_operator("v1.sky.example.com", Some(&up)).found,
            "v1.sky.example.com is available"
        );
        assert!(unavailable(&service(remote, json!([]))).is_some());
        let local = service(Value::Null, json!([]));
        assert!(of_others(&local).is_none());
        let found = of_operator("v1.sky.example.com", Some(&local)).found;
        assert!(
            found.contains("is served by the API server itself"),
            "{found}"
        );
        let found = of_operator("v1.sky.example.com", None).found;
        assert_eq!(found, "v1.sky.example.com is not registered");
    }
}

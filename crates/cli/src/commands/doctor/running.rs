//! The findings of a running cluster's ledger: hot loops, managers that overwrite each other, stuck deletions.

use kube::Client;
use serde_json::Value;

use super::Finding;
use crate::cluster::ledger::{LedgerClient, LedgerQuery};

/// The maximum number of findings.
const MOST: usize = 10;

/// Returns the findings; none if the server has no ledger.
pub(super) async fn findings(client: &Client) -> Vec<Finding> {
    let ledger = LedgerClient::new(client);
    let found = match ledger.find("findings", LedgerQuery::default()).await {
        Ok(found) => found,
        Err(error) => return vec![Finding::warning("controllers", error.to_string(), "")],
    };
    let Some(found) = found else {
        return Vec::new();
    };
    let items = found["items"].as_array().map_or(&[][..], Vec::as_slice);
    if items.is_empty() {
        return vec![Finding::good("controllers", "no findings in the ledger")];
    }
    let mut findings: Vec<Finding> = one_each(items)
        .into_iter()
        .map(|(item, more)| described(item, more))
        .collect();
    findings.truncate(MOST);
    findings
}

/// Returns the first finding of each kind about a controller, and the number of the others.
fn one_each(items: &[Value]) -> Vec<(&Value, usize)> {
    let mut groups: Vec<(&Value, usize)> = Vec::new();
    for item in items {
        let is_same = |other: &Value| {
            ["kind", "controller", "reason"]
                .iter()
                .all(|field| other[*field] == item[*field])
        };
        match groups.iter_mut().find(|(first, _)| is_same(first)) {
            Some((_, more)) => *more += 1,
            None => groups.push((item, 0)),
        }
    }
    groups
}

fn described(item: &Value, more: usize) -> Finding {
    let text = |field: &str| item[field].as_str().unwrap_or_default();
    let object = &item["object"];
    let advice = match (object["resource"].as_str(), object["name"].as_str()) {
        (Some(resource), Some(name)) => format!("see `kubewright why {resource}/{name}`"),
        _ => String::new(),
    };
    let found = match more {
        0 => text("message").to_owned(),
        more => format!("{}, and {more} more such findings", text("message")),
    };
    Finding::warning("controllers", found, &advice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_finding_names_the_command_that_explains_it() {
        let item = json!({
            "message": "spinner reconciles default/sky 9 times per second",
            "object": {"resource": "configmaps", "namespace": "default", "name": "sky"},
        });
        let found = described(&item, 0);
        assert_eq!(
            found.found,
            "spinner reconciles default/sky 9 times per second"
        );
        assert_eq!(found.advice, "see `kubewright why configmaps/sky`");
        assert_eq!(described(&json!({"message": "x"}), 0).advice, "");
    }

    #[test]
    fn equal_findings_are_counted() {
        let of = |controller: &str, message: &str| json!({"kind": "neverReconciled", "controller": controller, "message": message});
        let items = [of("a", "one"), of("a", "two"), of("b", "three")];
        let groups = one_each(&items);
        let counts: Vec<usize> = groups.iter().map(|(_, more)| *more).collect();
        assert_eq!(counts, [1, 0]);
        let found = described(groups[0].0, groups[0].1).found;
        assert_eq!(found, "one, and 1 more such findings");
    }
}

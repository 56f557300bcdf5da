//! The usage of resource claims: one claim, and the devices of each device class that it may get.
//!
//! Devices for extended resources of pods are not counted.

use kubewright_machinery::json::Read;
use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    evaluator::number,
    resource_list::{ResourceList, add, raise},
};

const COUNT: &str = "count/resourceclaims.resource.k8s.io";
const OF_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// The maximum number of devices of a claim, which one that requests all might get.
const MOST: i64 = 32;

/// The resources of claims that can be limited.
pub(super) fn measures(name: &str) -> bool {
    name == COUNT || name.ends_with(OF_CLASS)
}

/// Returns the usage of a claim. Of alternatives, the largest counts for each class.
pub(super) fn usage(claim: &Value) -> ResourceList {
    let mut out = ResourceList::from([(COUNT.to_owned(), number(1))]);
    for request in claim["spec"]["devices"]["requests"].items() {
        let mut most = BTreeMap::new();
        let alternatives = request["firstAvailable"].items();
        if alternatives.is_empty() {
            raise(&mut most, &devices(&request["exactly"]));
        }
        for alternative in alternatives {
            raise(&mut most, &devices(alternative));
        }
        add(&mut out, &most);
    }
    out
}

fn devices(request: &Value) -> ResourceList {
    let devices = match request["allocationMode"].as_str() {
        Some("ExactCount") => request["count"].as_i64().unwrap_or(0),
        Some("All") => MOST,
        _ => 0,
    };
    let class = request["deviceClassName"].text();
    let named = request
        .is_object()
        .then(|| (format!("{class}{OF_CLASS}"), number(devices)));
    named.into_iter().collect()
}

//! What resource claims use: one claim, and of each device class as many devices as it may get.
//!
//! Not here: devices that stand for extended resources of pods.

use kubewright_machinery::json::Read;
use std::collections::BTreeMap;

use serde_json::Value;

use super::evaluator::number;
use crate::admission::resource_list::{ResourceList, add, raise};

const COUNT: &str = "count/resourceclaims.resource.k8s.io";
const OF_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// The most devices that a claim can be given; what one that asks for all might get.
const MOST: i64 = 32;

/// What can be limited of claims.
pub(super) fn measures(name: &str) -> bool {
    name == COUNT || name.ends_with(OF_CLASS)
}

/// What a claim uses. Of alternatives the greediest counts, for each class.
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

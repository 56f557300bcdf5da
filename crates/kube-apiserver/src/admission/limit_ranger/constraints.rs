//! The bounds of a limit range and their violations.

use kubewright_builtins::usage::{
    pod_resources::{self, Counting},
    resource_list::{ResourceList, read},
};
use kubewright_machinery::{json::Read, quantity::Quantity};
use serde_json::Value;

/// The largest number of units whose thousandths fit.
const MOST_IN_THOUSANDTHS: i64 = i64::MAX / 1000;

/// Returns the violations of a pod: of each container, and of the pod as a whole.
pub(super) fn of_pod(range: &Value, pod: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for limit in range["spec"]["limits"].items() {
        match limit["type"].as_str() {
            Some("Container") => {
                let spec = &pod["spec"];
                for container in spec["containers"]
                    .items()
                    .iter()
                    .chain(spec["initContainers"].items())
                {
                    let resources = &container["resources"];
                    let asked = Asked {
                        title: "Container",
                        requests: read(&resources["requests"]),
                        limits: read(&resources["limits"]),
                    };
                    asked.check(limit, &mut out);
                }
            }
            Some("Pod") => {
                let pod_level = |name: &str| matches!(name, "cpu" | "memory");
                let counting = Counting {
                    status: false,
                    overhead: false,
                    pod_level,
                };
                let asked = Asked {
                    title: "Pod",
                    requests: pod_resources::requests(pod, counting),
                    limits: pod_resources::limits(pod, counting),
                };
                asked.check(limit, &mut out);
            }
            _ => {}
        }
    }
    out
}

/// Returns the violations of a claim, which has requests only.
pub(super) fn of_claim(range: &Value, claim: &Value) -> Vec<String> {
    const TITLE: &str = "PersistentVolumeClaim";
    let requests = read(&claim["spec"]["resources"]["requests"]);
    let asked = Asked {
        title: TITLE,
        requests,
        limits: ResourceList::new(),
    };
    let mut out = Vec::new();
    let limits = range["spec"]["limits"].items().iter();
    for limit in limits.filter(|limit| limit["type"] == TITLE) {
        out.extend(
            read(&limit["min"])
                .iter()
                .filter_map(|(name, least)| asked.too_little(name, least)),
        );
        for (name, most) in &read(&limit["max"]) {
            out.extend(asked.too_much_requested(name, most));
        }
    }
    out
}

/// The requests and limits that are checked.
struct Asked {
    title: &'static str,
    requests: ResourceList,
    limits: ResourceList,
}

impl Asked {
    fn check(&self, limit: &Value, out: &mut Vec<String>) {
        out.extend(
            read(&limit["min"])
                .iter()
                .filter_map(|(name, q)| self.too_little(name, q)),
        );
        out.extend(
            read(&limit["max"])
                .iter()
                .filter_map(|(name, q)| self.too_much(name, q)),
        );
        let ratios = read(&limit["maxLimitRequestRatio"]);
        out.extend(
            ratios
                .iter()
                .filter_map(|(name, q)| self.too_elastic(name, q)),
        );
    }

    fn too_little(&self, name: &str, least: &Quantity) -> Option<String> {
        let (title, request, limit) = (self.title, self.requests.get(name), self.limits.get(name));
        let (requested, limited, bound) = comparable(request, limit, least);
        let least = least.canonical();
        let Some(request) = request else {
            return Some(format!(
                "minimum {name} usage per {title} is {least}.  No request is specified"
            ));
        };
        if requested < bound {
            let request = request.canonical();
            return Some(format!(
                "minimum {name} usage per {title} is {least}, but request is {request}"
            ));
        }
        let limit = limit.filter(|_| limited < bound)?.canonical();
        Some(format!(
            "minimum {name} usage per {title} is {least}, but limit is {limit}"
        ))
    }

    fn too_much(&self, name: &str, most: &Quantity) -> Option<String> {
        let (title, request, limit) = (self.title, self.requests.get(name), self.limits.get(name));
        let (requested, limited, bound) = comparable(request, limit, most);
        let most = most.canonical();
        let Some(limit) = limit else {
            return Some(format!(
                "maximum {name} usage per {title} is {most}.  No limit is specified"
            ));
        };
        if limited > bound {
            let limit = limit.canonical();
            return Some(format!(
                "maximum {name} usage per {title} is {most}, but limit is {limit}"
            ));
        }
        let request = request.filter(|_| requested > bound)?.canonical();
        Some(format!(
            "maximum {name} usage per {title} is {most}, but request is {request}"
        ))
    }

    fn too_much_requested(&self, name: &str, most: &Quantity) -> Option<String> {
        let (title, request) = (self.title, self.requests.get(name));
        let (requested, _, bound) = comparable(request, None, most);
        let most = most.canonical();
        let Some(request) = request else {
            return Some(format!(
                "maximum {name} usage per {title} is {most}.  No request is specified"
            ));
        };
        let request = (requested > bound).then(|| request.canonical())?;
        Some(format!(
            "maximum {name} usage per {title} is {most}, but request is {request}"
        ))
    }

    /// Checks the ratio of limit to request.
    fn too_elastic(&self, name: &str, most: &Quantity) -> Option<String> {
        let (requested, limited, _) =
            comparable(self.requests.get(name), self.limits.get(name), most);
        let text = format!(
            "{name} max limit to request ratio per {} is {}",
            self.title,
            most.canonical()
        );
        if requested == 0 {
            return Some(format!(
                "{text}, but no request is specified or request is 0"
            ));
        }
        if limited == 0 {
            return Some(format!("{text}, but no limit is specified or limit is 0"));
        }
        let ratio = limited as f64 / requested as f64;
        let exceeded = if most.value() <= MOST_IN_THOUSANDTHS {
            ratio * 1000.0 > most.milli_value() as f64
        } else {
            ratio > most.value() as f64
        };
        exceeded.then(|| format!("{text}, but provided ratio is {ratio:.6}"))
    }
}

/// Scales three quantities to the same unit: thousandths if all fit, otherwise units.
fn comparable(
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
    bound: &Quantity,
) -> (i64, i64, i64) {
    let units = |q: Option<&Quantity>| q.map_or(0, Quantity::value);
    let all = [request, limit, Some(bound)];
    if all.into_iter().all(|q| units(q) <= MOST_IN_THOUSANDTHS) {
        let thousandths = |q: Option<&Quantity>| q.map_or(0, Quantity::milli_value);
        return (
            thousandths(request),
            thousandths(limit),
            thousandths(Some(bound)),
        );
    }
    (units(request), units(limit), units(Some(bound)))
}

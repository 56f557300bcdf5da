//! Converts events between the core group and `events.k8s.io`: the same fields under other names.

use serde_json::Value;

use super::rename;

/// Pairs of the core name and the name in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) fn from_core(event: &mut Value) {
    for (core, name) in NAMES {
        rename(event, core, name);
    }
}

pub(super) fn to_core(event: &mut Value) {
    for (core, name) in NAMES {
        rename(event, name, core);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::convert::convert;

    #[test]
    fn an_event_reads_back_after_a_trip_through_the_other_group() {
        let core = json!({"apiVersion": "v1", "kind": "Event", "involvedObject": {"kind": "Pod"},
            "message": "m", "count": 1, "source": {"component": "c"}, "eventTime": null});
        let new = convert(core.clone(), ("", "v1"), ("events.k8s.io", "v1"), "Event");
        assert_eq!(new["regarding"]["kind"], "Pod");
        assert_eq!(new["deprecatedCount"], 1);
        assert_eq!(new["apiVersion"], "events.k8s.io/v1");
        assert_eq!(
            convert(new, ("events.k8s.io", "v1"), ("", "v1"), "Event"),
            core
        );
    }
}

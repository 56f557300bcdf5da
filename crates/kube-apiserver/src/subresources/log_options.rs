//! The options of `log`.

use kubewright_apiserver::request::Query;
use kubewright_machinery::{
    Status,
    field::{self, ErrorList, Path},
    gvk::GroupKind,
    status,
};
use serde_json::json;

/// Checks the options of a request for the log of a pod.
pub(super) fn check(query: &Query, pod: &str) -> Result<(), Status> {
    let mut errors = ErrorList::new();
    let bounds = [
        ("tailLines", 0, "must be greater than or equal to 0"),
        ("limitBytes", 1, "must be greater than 0"),
        ("sinceSeconds", 1, "must be greater than 0"),
    ];
    for (option, least, text) in bounds {
        if let Some(value) = query.integer(option)?.filter(|value| *value < least) {
            errors.push(field::invalid(&Path::new(option), &json!(value), text));
        }
    }
    if query.first("sinceSeconds").is_some() && query.first("sinceTime").is_some() {
        let text = "at most one of `sinceTime` or `sinceSeconds` may be specified";
        errors.push(field::forbidden(&Path::new("[]"), text));
    }
    if query.first("stream").is_some() {
        // The feature gate PodLogsQuerySplitStreams is off by default.
        errors.push(field::forbidden(
            &Path::new("stream"),
            "may not be specified",
        ));
    }
    if errors.is_empty() {
        return Ok(());
    }
    let kind = GroupKind::new("", "PodLogOptions");
    Err(status::invalid(&kind, pod, &errors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bounds() {
        let message = |query: &str| check(&Query::parse(Some(query)), "p").unwrap_err().message;
        assert!(
            check(
                &Query::parse(Some("tailLines=0&limitBytes=1&follow=1")),
                "p"
            )
            .is_ok()
        );
        assert_eq!(
            message("tailLines=-1&limitBytes=0"),
            "PodLogOptions \"p\" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, limitBytes: Invalid value: 0: must be greater than 0]"
        );
        assert_eq!(
            message("sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z"),
            "PodLogOptions \"p\" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
        );
        assert_eq!(
            message("stream=Stdout"),
            "PodLogOptions \"p\" is invalid: stream: Forbidden: may not be specified"
        );
        assert_eq!(
            message("tailLines=a"),
            "strconv.ParseInt: parsing \"a\": invalid syntax"
        );
    }
}

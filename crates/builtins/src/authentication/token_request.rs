//! `serviceaccounts/token`: requests for tokens of service accounts.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::json::{Read, Write};

const HOUR: i64 = 3600;
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;

/// Sets the defaults: a token is valid for an hour, and `audiences` are those of the server.
pub fn default(request: &mut Value, audiences: &[&str]) {
    let spec = request.field("spec");
    spec.put_if_unset("expirationSeconds", HOUR);
    spec.put_if_blank("audiences", audiences.to_vec());
}

/// Validates a token request.
pub fn validate(request: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let seconds = &request["spec"]["expirationSeconds"];
    let path = Path::new("spec").child("expirationSeconds");
    if seconds.int() < SHORTEST {
        let message = "may not specify a duration less than 10 minutes";
        errors.push(field::invalid(&path, seconds, message));
    }
    if seconds.int() > LONGEST {
        let message = "may not specify a duration larger than 2^32 seconds";
        errors.push(field::invalid(&path, seconds, message));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_lives_for_an_hour_by_default() {
        let mut request = json!({"spec": {}});
        default(&mut request, &["api"]);
        assert_eq!(request["spec"]["expirationSeconds"], 3600);
        assert_eq!(request["spec"]["audiences"], json!(["api"]));
        assert!(validate(&request).is_empty());
    }

    #[test]
    fn a_token_for_a_minute_is_refused() {
        let errors = validate(&json!({"spec": {"expirationSeconds": 60}}));
        assert_eq!(errors.len(), 1);
    }
}

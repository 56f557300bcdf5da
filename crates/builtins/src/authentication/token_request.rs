//! `serviceaccounts/token`: requests for tokens of service accounts.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{
    KindRules,
    json::{Read, Write},
};

const HOUR: i64 = 3600;
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;

/// The rules of token requests.
pub const RULES: KindRules = KindRules {
    default,
    ..KindRules::GENERAL
};

/// Sets the default: a token is valid for an hour.
fn default(request: &mut Value) {
    request
        .field("spec")
        .put_if_unset("expirationSeconds", HOUR);
}

/// Sets the audiences of the server unless the request names others.
pub fn put_audiences(request: &mut Value, audiences: &[&str]) {
    request
        .field("spec")
        .put_if_blank("audiences", audiences.to_vec());
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
        default(&mut request);
        put_audiences(&mut request, &["api"]);
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

//! Token files, and the continue tokens of lists.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use kubewright_apiserver::auth::TokenFile;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};

use crate::requests;

/// Reads the input as a token file, and sends it as a continue token, plain and in its encoding.
pub(crate) fn tokens(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(file) = TokenFile::parse(text)
    {
        let _ = file.user(text);
        assert!(file.user("").is_none(), "an empty token is nobody's");
    }
    let plain = percent_encode(data, NON_ALPHANUMERIC);
    let inner = BASE64_URL_SAFE_NO_PAD.encode(data);
    let list = |token: &str| format!("GET /api/v1/configmaps?limit=1&continue={token}");
    requests::requests(list(&plain.to_string()).as_bytes());
    requests::requests(list(&inner).as_bytes());
}

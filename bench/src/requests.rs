//! The bytes of requests: made once, with a number of fixed width that is written over for each use.

use crate::endpoint::Endpoint;

/// Digits of a number: enough for any count that fits into memory, and always the same length.
const DIGITS: usize = 10;
/// Stands where the number goes.
const HOLE: &str = "##########";

/// A request with holes for a number.
#[derive(Clone)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    holes: Vec<usize>,
}

impl Template {
    /// A request. In the target and in the body, [`hole`] stands for the number.
    pub(crate) fn new(endpoint: &Endpoint, method: &str, target: &str, body: &str) -> Self {
        let mut text = format!(
            "{method} {target} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             user-agent: kubewright-bench\r\naccept: application/json\r\n",
            endpoint.address, endpoint.token
        );
        if !body.is_empty() {
            text += &format!(
                "content-type: application/json\r\ncontent-length: {}\r\n",
                body.len()
            );
        }
        text += "\r\n";
        text += body;
        let holes = text.match_indices(HOLE).map(|(at, _)| at).collect();
        Self {
            bytes: text.into_bytes(),
            holes,
        }
    }

    /// The request with that number.
    pub(crate) fn numbered(&mut self, number: u64) -> &[u8] {
        let mut digits = [b'0'; DIGITS];
        let mut rest = number;
        for digit in digits.iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        for hole in &self.holes {
            self.bytes[*hole..*hole + DIGITS].copy_from_slice(&digits);
        }
        &self.bytes
    }

    /// The request as it is, for those without holes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The path of the ConfigMaps of a namespace.
pub(crate) fn config_maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// The name of the numbered ConfigMap, with a hole.
pub(crate) fn hole() -> String {
    format!("map-{HOLE}")
}

/// A ConfigMap with a hole for its number and one value of so many bytes.
pub(crate) fn config_map(value_bytes: usize) -> String {
    config_map_named(&hole(), value_bytes)
}

/// A ConfigMap with one value of so many bytes.
pub(crate) fn config_map_named(name: &str, value_bytes: usize) -> String {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz012345";
    let value: String = LETTERS.chars().cycle().take(value_bytes).collect();
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"value":"{value}"}}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fill_their_holes() {
        let text = format!("a {HOLE} b {HOLE}");
        let holes = text.match_indices(HOLE).map(|(at, _)| at).collect();
        let mut template = Template {
            bytes: text.into_bytes(),
            holes,
        };
        assert_eq!(template.numbered(1234), b"a 0000001234 b 0000001234");
        assert_eq!(template.numbered(7), b"a 0000000007 b 0000000007");
    }
}

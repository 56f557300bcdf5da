//! The bytes of requests: made once, with a number of fixed width that is overwritten for each use.

use crate::{
    endpoint::Endpoint,
    wire::{Protocol, http2},
};

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";
/// The media type of Kubernetes' protobuf.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The digits of a number: enough for any count that fits into memory, and always the same length.
const DIGITS: usize = 10;
/// The placeholder of the number.
const HOLE: &str = "##########";

/// A request with placeholders for a number.
#[derive(Clone)]
pub(crate) struct Template {
    protocol: Protocol,
    bytes: Vec<u8>,
    holes: Vec<usize>,
}

/// The parts of a request that differ between cases.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) protocol: Protocol,
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Returns a request in JSON by HTTP/1.1.
    pub(crate) fn new(method: &'a str, target: &'a str, body: &'a [u8]) -> Self {
        Self {
            protocol: Protocol::Http1,
            method,
            target,
            accept: JSON,
            content_type: JSON,
            body,
        }
    }
}

impl Template {
    /// Creates a request in JSON by HTTP/1.1. In the target and in the body, [`hole`] stands for the number.
    pub(crate) fn new(endpoint: &Endpoint, method: &str, target: &str, body: &str) -> Self {
        Self::of(endpoint, Parts::new(method, target, body.as_bytes()))
    }

    /// Creates a request.
    pub(crate) fn of(endpoint: &Endpoint, parts: Parts<'_>) -> Self {
        let authorization = format!("Bearer {}", endpoint.token);
        let length = parts.body.len().to_string();
        let mut headers = vec![
            ("authorization", authorization.as_str()),
            ("user-agent", "kubewright-bench"),
            ("accept", parts.accept),
        ];
        if !parts.body.is_empty() {
            headers.push(("content-type", parts.content_type));
            headers.push(("content-length", &length));
        }
        let bytes = match parts.protocol {
            Protocol::Http1 => {
                let mut text = format!(
                    "{} {} HTTP/1.1\r\nhost: {}\r\n",
                    parts.method, parts.target, endpoint.address
                );
                for (name, value) in headers {
                    text += &format!("{name}: {value}\r\n");
                }
                let mut bytes = (text + "\r\n").into_bytes();
                bytes.extend_from_slice(parts.body);
                bytes
            }
            Protocol::Http2 => {
                let mut all = vec![
                    (":method", parts.method),
                    (":scheme", "https"),
                    (":authority", endpoint.address.as_str()),
                    (":path", parts.target),
                ];
                all.extend(headers);
                http2::request(&all, parts.body)
            }
        };
        Self {
            protocol: parts.protocol,
            holes: holes(&bytes),
            bytes,
        }
    }

    /// Returns the protocol of the connections that it is made for.
    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Returns the request with a number.
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

    /// Returns the request as it is, for requests without placeholders.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn holes(bytes: &[u8]) -> Vec<usize> {
    let found = bytes.windows(DIGITS).enumerate();
    found
        .filter(|(_, window)| *window == HOLE.as_bytes())
        .map(|(at, _)| at)
        .collect()
}

/// Returns the path of the ConfigMaps of a namespace.
pub(crate) fn config_maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// Returns the name of the numbered ConfigMap, with a placeholder.
pub(crate) fn hole() -> String {
    format!("map-{HOLE}")
}

/// Returns a name that begins with a word, with a placeholder for its number.
pub(crate) fn numbered_name(word: &str) -> String {
    format!("{word}-{HOLE}")
}

/// Returns the name of the numbered Deployment, with a placeholder.
pub(crate) fn deployment_hole() -> String {
    format!("web-{HOLE}")
}

/// Returns a ConfigMap with a placeholder for its number and one value of a given size.
pub(crate) fn config_map(value_bytes: usize) -> String {
    config_map_named(&hole(), value_bytes)
}

/// Returns a ConfigMap with one value of a given size.
pub(crate) fn config_map_named(name: &str, value_bytes: usize) -> String {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz012345";
    let value: String = LETTERS.chars().cycle().take(value_bytes).collect();
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"value":"{value}"}}}}"#
    )
}

/// Returns an object in protobuf, with the same placeholder.
pub(crate) fn in_protobuf(json: &str) -> anyhow::Result<Vec<u8>> {
    Ok(kubewright_protobuf::encode(&serde_json::from_str(json)?)?)
}

/// Returns a Deployment of about 4 KB with a placeholder for its number: three containers with probes, resources,
/// mounts and variables.
pub(crate) fn deployment() -> String {
    let container = |name: &str, port: u16| {
        let variables: Vec<String> = (0..6)
            .map(|i| format!(r#"{{"name":"SETTING_{i}","value":"{name}-value-{i}"}}"#))
            .collect();
        format!(
            r#"{{"name":"{name}","image":"registry.example.com/team/{name}:v1.2.3","args":["--listen=:{port}","--log-level=info"],
            "ports":[{{"name":"http-{port}","containerPort":{port}}}],"env":[{}],
            "resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}},"limits":{{"cpu":"500m","memory":"256Mi"}}}},
            "livenessProbe":{{"httpGet":{{"path":"/healthz","port":{port}}},"periodSeconds":20}},
            "readinessProbe":{{"httpGet":{{"path":"/readyz","port":{port}}},"initialDelaySeconds":3}},
            "volumeMounts":[{{"name":"config","mountPath":"/etc/config"}},{{"name":"scratch","mountPath":"/scratch"}}],
            "securityContext":{{"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"capabilities":{{"drop":["ALL"]}}}}}}"#,
            variables.join(",")
        )
    };
    let containers = [("web", 8080), ("proxy", 8443), ("metrics", 9090)];
    let containers: Vec<String> = containers
        .iter()
        .map(|(name, port)| container(name, *port))
        .collect();
    let labels = r#""app.kubernetes.io/name":"web","app.kubernetes.io/part-of":"shop""#;
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web-{HOLE}","labels":{{{labels}}}}},
        "spec":{{"replicas":3,"selector":{{"matchLabels":{{{labels}}}}},
        "template":{{"metadata":{{"labels":{{{labels}}},"annotations":{{"prometheus.io/scrape":"true"}}}},
        "spec":{{"containers":[{}],"volumes":[{{"name":"config","configMap":{{"name":"web"}}}},{{"name":"scratch","emptyDir":{{}}}}],
        "serviceAccountName":"web","topologySpreadConstraints":[{{"maxSkew":1,"topologyKey":"kubernetes.io/hostname",
        "whenUnsatisfiable":"ScheduleAnyway","labelSelector":{{"matchLabels":{{{labels}}}}}}}]}}}}}}}}"#,
        containers.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fill_their_holes() {
        let text = format!("a {HOLE} b {HOLE}");
        let mut template = Template {
            protocol: Protocol::Http1,
            holes: holes(text.as_bytes()),
            bytes: text.into_bytes(),
        };
        assert_eq!(template.numbered(1234), b"a 0000001234 b 0000001234");
        assert_eq!(template.numbered(7), b"a 0000000007 b 0000000007");
    }
}

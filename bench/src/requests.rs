//! The bytes of requests: made once, with a number of fixed width that is overwritten for each use.

use crate::endpoint::Endpoint;

/// The digits of a number: enough for any count that fits into memory, and always the same length.
const DIGITS: usize = 10;
/// The placeholder of the number.
const HOLE: &str = "##########";

/// A request with placeholders for a number.
#[derive(Clone)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    holes: Vec<usize>,
}

impl Template {
    /// Creates a request. In the target and in the body, [`hole`] stands for the number.
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

/// Returns the path of the ConfigMaps of a namespace.
pub(crate) fn config_maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// Returns the name of the numbered ConfigMap, with a placeholder.
pub(crate) fn hole() -> String {
    format!("map-{HOLE}")
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
        let holes = text.match_indices(HOLE).map(|(at, _)| at).collect();
        let mut template = Template {
            bytes: text.into_bytes(),
            holes,
        };
        assert_eq!(template.numbered(1234), b"a 0000001234 b 0000001234");
        assert_eq!(template.numbered(7), b"a 0000000007 b 0000000007");
    }
}

//! Flags of `k8s.io/apiserver` that cannot have their effect here.

/// The flags, without hyphens, and the reason of each.
const REFUSED: [(&str, &str); 20] = [
    ("cert-dir", CERTIFICATES),
    ("tls-sni-cert-key", CERTIFICATES),
    (
        "tls-cipher-suites",
        "the server has the secure cipher suites of rustls and no others",
    ),
    (
        "tls-min-version",
        "the server never accepts a version before TLS 1.2",
    ),
    (
        "http2-max-streams-per-connection",
        "the limits of connections are fixed",
    ),
    ("audit-webhook-config-file", AUDIT),
    ("audit-log-mode", AUDIT),
    ("audit-log-format", AUDIT),
    ("audit-log-compress", AUDIT),
    ("enable-admission-plugins", ADMISSION),
    ("disable-admission-plugins", ADMISSION),
    ("admission-control-config-file", ADMISSION),
    ("enable-priority-and-fairness", FLOW),
    ("max-requests-inflight", FLOW),
    ("max-mutating-requests-inflight", FLOW),
    ("profiling", PROFILES),
    ("contention-profiling", PROFILES),
    ("feature-gates", "the server has no feature gates"),
    (
        "egress-selector-config-file",
        "the server calls the cluster directly",
    ),
    ("v", "the program sets the level of its log itself"),
];

const CERTIFICATES: &str = "certificates are issued and kept in a Secret, or read from the files of --tls-cert-file and --tls-private-key-file";
const AUDIT: &str =
    "audit events are written in batches, as lines of JSON, to the file of --audit-log-path";
const ADMISSION: &str = "admission plugins are chosen in the code of the server";
const FLOW: &str = "the API server of the cluster limits the requests that it forwards";
const PROFILES: &str = "the server has no profiles of Go";

/// Returns the reason why a flag cannot have its effect, if it is such a flag.
pub(super) fn reason(flag: &str) -> Option<&'static str> {
    let name = flag.trim_start_matches('-');
    let found = REFUSED.iter().find(|(refused, _)| *refused == name);
    found.map(|(_, reason)| *reason)
}

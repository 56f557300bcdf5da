//! The flags of kube-apiserver 1.36, by their effect here.

use super::flags::{Effect, Flag, Form, fixed, switches, values};

static USED: [Flag; 22] = values(
    Effect::Used,
    [
        "api-audiences",
        "authorization-mode",
        "bind-address",
        "cert-dir",
        "client-ca-file",
        "disable-admission-plugins",
        "enable-admission-plugins",
        "requestheader-allowed-names",
        "requestheader-client-ca-file",
        "requestheader-extra-headers-prefix",
        "requestheader-group-headers",
        "requestheader-uid-headers",
        "requestheader-username-headers",
        "secure-port",
        "service-account-issuer",
        "service-account-jwks-uri",
        "service-account-key-file",
        "service-account-max-token-expiration",
        "service-account-signing-key-file",
        "service-cluster-ip-range",
        "tls-cert-file",
        "token-auth-file",
    ],
);

static USED_TOO: [Flag; 10] = values(
    Effect::Used,
    [
        "feature-gates",
        "runtime-config",
        "max-mutating-requests-inflight",
        "max-requests-inflight",
        "proxy-client-cert-file",
        "proxy-client-key-file",
        "audit-log-format",
        "audit-log-path",
        "audit-policy-file",
        "tls-private-key-file",
    ],
);

static USED_SWITCHES: [Flag; 5] = switches(
    Effect::Used,
    [
        "allow-privileged",
        "anonymous-auth",
        "enable-bootstrap-token-auth",
        "enable-priority-and-fairness",
        "service-account-extend-token-expiration",
    ],
);

/// Settings of parts that are not there or that need no setting: etcd, logs, caches, queues, processes.
static IGNORED: [Flag; 66] = values(
    Effect::Ignored,
    [
        "allow-metric-labels",
        "allow-metric-labels-manifest",
        "audit-log-batch-buffer-size",
        "audit-log-batch-max-size",
        "audit-log-batch-max-wait",
        "audit-log-batch-throttle-burst",
        "audit-log-batch-throttle-qps",
        "audit-log-maxage",
        "audit-log-maxbackup",
        "audit-log-maxsize",
        "audit-log-mode",
        "audit-log-truncate-max-batch-size",
        "audit-log-truncate-max-event-size",
        "audit-webhook-batch-buffer-size",
        "audit-webhook-batch-max-size",
        "audit-webhook-batch-max-wait",
        "audit-webhook-batch-throttle-burst",
        "audit-webhook-batch-throttle-qps",
        "audit-webhook-initial-backoff",
        "audit-webhook-mode",
        "audit-webhook-truncate-max-batch-size",
        "audit-webhook-truncate-max-event-size",
        "audit-webhook-version",
        "authentication-token-webhook-cache-ttl",
        "authentication-token-webhook-version",
        "authorization-webhook-cache-authorized-ttl",
        "authorization-webhook-cache-unauthorized-ttl",
        "authorization-webhook-version",
        "coordinated-leadership-lease-duration",
        "coordinated-leadership-renew-deadline",
        "coordinated-leadership-retry-period",
        "debug-socket-path",
        "delete-collection-workers",
        "disabled-metrics",
        "endpoint-reconciler-type",
        "etcd-cafile",
        "etcd-certfile",
        "etcd-compaction-interval",
        "etcd-count-metric-poll-period",
        "etcd-db-metric-poll-interval",
        "etcd-healthcheck-timeout",
        "etcd-keyfile",
        "etcd-prefix",
        "etcd-readycheck-timeout",
        "etcd-servers-overrides",
        "external-hostname",
        "goaway-chance",
        "http2-max-streams-per-connection",
        "lease-reuse-duration-seconds",
        "livez-grace-period",
        "log-flush-frequency",
        "log-json-info-buffer-size",
        "log-text-info-buffer-size",
        "logging-format",
        "max-connection-bytes-per-sec",
        "show-hidden-metrics-for-version",
        "shutdown-delay-duration",
        "shutdown-watch-termination-grace-period",
        "storage-backend",
        "storage-initialization-timeout",
        "storage-media-type",
        "tls-cipher-suites",
        "tls-curve-preferences",
        "v",
        "vmodule",
        "watch-cache-sizes",
    ],
);

static IGNORED_SWITCHES: [Flag; 17] = switches(
    Effect::Ignored,
    [
        "audit-log-batch-throttle-enable",
        "audit-log-compress",
        "audit-log-truncate-enabled",
        "audit-webhook-batch-throttle-enable",
        "audit-webhook-truncate-enabled",
        "contention-profiling",
        "emulation-forward-compatible",
        "enable-aggregator-routing",
        "encryption-provider-config-automatic-reload",
        "log-json-split-stream",
        "log-text-split-stream",
        "permit-address-sharing",
        "permit-port-sharing",
        "profiling",
        "runtime-config-emulation-forward-compatible",
        "shutdown-send-retry-after",
        "watch-cache",
    ],
);

static WITHOUT_ETCD: [Flag; 1] = values(
    Effect::IgnoredBecause("objects are kept in memory and not in etcd"),
    ["etcd-servers"],
);

static WITHOUT_ENDPOINTS: [Flag; 1] = values(
    Effect::IgnoredBecause("clients find the server at --bind-address"),
    ["advertise-address"],
);

/// Settings that are always the default ones.
static FIXED: [Flag; 3] = fixed(
    Form::Value,
    [
        ("event-ttl", "1h0m0s"),
        ("min-request-timeout", "1800"),
        ("request-timeout", "1m0s"),
    ],
);

static FIXED_SWITCHES: [Flag; 3] = fixed(
    Form::Switch,
    [
        ("aggregator-reject-forwarding-redirect", "true"),
        ("enable-garbage-collector", "true"),
        ("service-account-lookup", "true"),
    ],
);

/// Behaviours that are missing.
static UNSUPPORTED: [Flag; 37] = values(
    Effect::Unsupported,
    [
        "admission-control",
        "admission-control-config-file",
        "audit-log-version",
        "audit-webhook-config-file",
        "authentication-config",
        "authentication-token-webhook-config-file",
        "authorization-config",
        "authorization-policy-file",
        "authorization-webhook-config-file",
        "cors-allowed-origins",
        "default-not-ready-toleration-seconds",
        "default-unreachable-toleration-seconds",
        "egress-selector-config-file",
        "emulated-version",
        "encryption-provider-config",
        "kubelet-certificate-authority",
        "kubelet-client-certificate",
        "kubelet-client-key",
        "kubelet-preferred-address-types",
        "kubelet-timeout",
        "kubernetes-service-node-port",
        "min-compatibility-version",
        "oidc-ca-file",
        "oidc-client-id",
        "oidc-groups-claim",
        "oidc-groups-prefix",
        "oidc-issuer-url",
        "oidc-required-claim",
        "oidc-signing-algs",
        "oidc-username-claim",
        "oidc-username-prefix",
        "service-account-signing-endpoint",
        "service-node-port-range",
        "strict-transport-security-directives",
        "tls-min-version",
        "tls-sni-cert-key",
        "tracing-config-file",
    ],
);

static UNSUPPORTED_SWITCHES: [Flag; 2] = switches(
    Effect::Unsupported,
    ["disable-http2-serving", "enable-logs-handler"],
);

static UNSUPPORTED_PEERS: [Flag; 3] = values(
    Effect::Unsupported,
    ["peer-advertise-ip", "peer-advertise-port", "peer-ca-file"],
);

/// Returns all flags.
pub(super) fn all() -> impl Iterator<Item = &'static Flag> {
    USED.iter()
        .chain(&USED_TOO)
        .chain(&USED_SWITCHES)
        .chain(&IGNORED)
        .chain(&IGNORED_SWITCHES)
        .chain(&WITHOUT_ETCD)
        .chain(&WITHOUT_ENDPOINTS)
        .chain(&FIXED)
        .chain(&FIXED_SWITCHES)
        .chain(&UNSUPPORTED)
        .chain(&UNSUPPORTED_SWITCHES)
        .chain(&UNSUPPORTED_PEERS)
}

/// Returns the flag of a name.
pub(super) fn find(name: &str) -> Option<&'static Flag> {
    all().find(|flag| flag.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_flags_of_go_tests_have_an_effect_or_are_ignored() {
        // Those that envtest sets by itself, and those that tests commonly add.
        for (name, effect) in [
            ("allow-privileged", Effect::Used),
            ("authorization-mode", Effect::Used),
            ("bind-address", Effect::Used),
            ("cert-dir", Effect::Used),
            ("client-ca-file", Effect::Used),
            ("disable-admission-plugins", Effect::Used),
            ("enable-admission-plugins", Effect::Used),
            ("feature-gates", Effect::Used),
            ("secure-port", Effect::Used),
            ("service-account-issuer", Effect::Used),
            ("service-account-key-file", Effect::Used),
            ("service-account-signing-key-file", Effect::Used),
            ("service-cluster-ip-range", Effect::Used),
            ("tls-cert-file", Effect::Used),
            ("tls-private-key-file", Effect::Used),
        ] {
            assert_eq!(find(name).map(|flag| flag.effect), Some(effect), "{name}");
        }
    }

    #[test]
    fn flags_of_envtest_without_effect_say_why() {
        for name in ["advertise-address", "etcd-servers"] {
            let effect = find(name).map(|flag| flag.effect);
            assert!(matches!(effect, Some(Effect::IgnoredBecause(_))), "{name}");
        }
    }

    #[test]
    fn flags_are_listed_once() {
        let names: BTreeSet<&str> = all().map(|flag| flag.name).collect();
        assert_eq!(names.len(), all().count());
    }
}

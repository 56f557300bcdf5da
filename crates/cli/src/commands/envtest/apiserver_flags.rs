//! The flags of kube-apiserver 1.36, by their effect here.

use super::flags::{Effect, Flag, switches, values};

static USED: [Flag; 24] = values(
    Effect::Used,
    [
        "advertise-address",
        "api-audiences",
        "authorization-mode",
        "bind-address",
        "cert-dir",
        "client-ca-file",
        "disable-admission-plugins",
        "enable-admission-plugins",
        "etcd-servers",
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

static USED_TOO: [Flag; 4] = values(
    Effect::Used,
    [
        "audit-log-format",
        "audit-log-path",
        "audit-policy-file",
        "tls-private-key-file",
    ],
);

static USED_SWITCHES: [Flag; 4] = switches(
    Effect::Used,
    [
        "allow-privileged",
        "anonymous-auth",
        "enable-bootstrap-token-auth",
        "service-account-extend-token-expiration",
    ],
);

/// Settings of parts that are not there or that need no setting: etcd, logs, caches, queues, processes.
static IGNORED: [Flag; 72] = values(
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
        "event-ttl",
        "external-hostname",
        "feature-gates",
        "goaway-chance",
        "http2-max-streams-per-connection",
        "lease-reuse-duration-seconds",
        "livez-grace-period",
        "log-flush-frequency",
        "log-json-info-buffer-size",
        "log-text-info-buffer-size",
        "logging-format",
        "max-connection-bytes-per-sec",
        "max-mutating-requests-inflight",
        "max-requests-inflight",
        "min-request-timeout",
        "request-timeout",
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

static IGNORED_SWITCHES: [Flag; 21] = switches(
    Effect::Ignored,
    [
        "aggregator-reject-forwarding-redirect",
        "audit-log-batch-throttle-enable",
        "audit-log-compress",
        "audit-log-truncate-enabled",
        "audit-webhook-batch-throttle-enable",
        "audit-webhook-truncate-enabled",
        "contention-profiling",
        "emulation-forward-compatible",
        "enable-aggregator-routing",
        "enable-garbage-collector",
        "enable-priority-and-fairness",
        "encryption-provider-config-automatic-reload",
        "log-json-split-stream",
        "log-text-split-stream",
        "permit-address-sharing",
        "permit-port-sharing",
        "profiling",
        "runtime-config-emulation-forward-compatible",
        "service-account-lookup",
        "shutdown-send-retry-after",
        "watch-cache",
    ],
);

/// Behaviours that are missing.
static UNSUPPORTED: [Flag; 40] = values(
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
        "proxy-client-cert-file",
        "proxy-client-key-file",
        "runtime-config",
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
        .chain(&UNSUPPORTED)
        .chain(&UNSUPPORTED_SWITCHES)
        .chain(&UNSUPPORTED_PEERS)
}

/// Returns the flag of a name.
pub(super) fn find(name: &str) -> Option<&'static Flag> {
    all().find(|flag| flag.name == name)
}

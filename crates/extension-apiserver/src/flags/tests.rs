use std::time::Duration;

use super::*;

#[test]
fn contradictions_are_errors() {
    for args in [
        &["--tls-cert-file=a"][..],
        &[
            "--authentication-kubeconfig=a",
            "--authorization-kubeconfig=b",
        ],
        &["--secure-port"],
        &["--secure-port=70000"],
        &["--what=1"],
        &["--audit-log-path=a"],
        &["--data-dir=a", "--etcd-servers=http://b:2379"],
        &["--audit-log-maxsize=1"],
        &["--requestheader-allowed-names=a"],
        &["--request-timeout=-1s"],
        &["--authentication-skip-lookup=maybe"],
    ] {
        assert!(ServerFlags::parse(args).is_err(), "{args:?}");
    }
    let same = [
        "--authentication-kubeconfig=a",
        "--authorization-kubeconfig=a",
    ];
    assert!(ServerFlags::parse(same).is_ok());
    assert_eq!(ServerFlags::parse::<&str>([]), Ok(ServerFlags::default()));
}

#[test]
fn stores_are_selected_by_flags() {
    let etcd = [
        "--etcd-servers=http://a:2379, http://b:2379",
        "--etcd-prefix",
        "/sky",
    ];
    let flags = ServerFlags::parse(etcd).unwrap();
    assert_eq!(flags.store.etcd_servers, ["http://a:2379", "http://b:2379"]);
    assert_eq!(flags.store.etcd_prefix.as_deref(), Some("/sky"));
}

#[test]
fn boolean_flags_take_no_argument() {
    let flags = [
        "--authentication-skip-lookup",
        "--secure-port",
        "8443",
        "--authentication-tolerate-lookup-failure=false",
    ];
    let flags = ServerFlags::parse(flags).unwrap();
    assert_eq!(flags.secure_port, 8443);
    assert_eq!(flags.delegation.lookup, Lookup::Skipped);
    let flags = ServerFlags::parse(["--authentication-tolerate-lookup-failure"]).unwrap();
    assert_eq!(flags.delegation.lookup, Lookup::Tolerated);
}

#[test]
fn authorities_and_times_are_set_by_flags() {
    let flags = ServerFlags::parse([
        "--client-ca-file=/ca.crt",
        "--requestheader-client-ca-file=/proxy.crt",
        "--requestheader-allowed-names=front-proxy, other",
        "--requestheader-username-headers=X-User",
        "--authentication-token-webhook-cache-ttl=2m",
        "--authorization-webhook-cache-authorized-ttl=5m",
        "--authorization-webhook-cache-unauthorized-ttl=0s",
        "--request-timeout=90s",
        "--shutdown-delay-duration=5s",
    ]);
    let flags = flags.unwrap();
    let options = &flags.delegation;
    assert_eq!(options.client_ca_file, Some("/ca.crt".into()));
    let proxies = options.proxies.as_ref().unwrap();
    assert_eq!(proxies.allowed_names, ["front-proxy", "other"]);
    assert_eq!(proxies.headers.user, ["X-User"]);
    assert_eq!(proxies.headers.group, ["X-Remote-Group"]);
    assert_eq!(options.token_cache, Duration::from_secs(120));
    assert_eq!(options.authorized_cache, Duration::from_secs(300));
    assert_eq!(options.unauthorized_cache, Duration::ZERO);
    assert_eq!(flags.request_timeout, Duration::from_secs(90));
    assert_eq!(flags.shutdown_delay, Duration::from_secs(5));
}

#[test]
fn flags_that_cannot_act_say_why() {
    for flags in [&["--cert-dir", "/tmp"][..], &["--profiling"], &["--v=2"]] {
        let error = ServerFlags::parse(flags).unwrap_err().to_string();
        assert!(
            error.contains(" is not supported: the ") || error.contains("certificates are"),
            "{error}"
        );
    }
}

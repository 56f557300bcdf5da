//! The options of a cluster that kube-apiserver's flags ask for.

use std::{
    fs::File,
    io::{self, Read},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use kubewright_apiserver::InFlightLimits;
use kubewright_cluster::{CertificateAuthority, ServingCertificate, Tokens};
use kubewright_kube_apiserver::{
    AnonymousAccess, AuthorizationMode, FrontProxy, KubeApiServerBuilder, PluginName,
    PriorityAndFairness, ServiceAccountKeys, ServiceRange,
};
use kubewright_machinery::time::parse_duration;
use kubewright_scaffold::Error;

use super::{
    feature_gates,
    flags::{Flags, invalid},
    runtime_config,
};
use crate::{cluster::audit::AuditLog, output::warn};

/// The largest file that a flag may name.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A change of the API server's settings.
pub(super) type Configure = Box<dyn FnOnce(KubeApiServerBuilder) -> KubeApiServerBuilder>;

/// The options of a cluster.
pub(super) struct Options {
    pub(super) address: SocketAddr,
    pub(super) certificate: ServingCertificate,
    pub(super) tokens: Option<Tokens>,
    pub(super) server: Configure,
    pub(super) audit: Option<AuditLog>,
}

impl Options {
    /// Reads the flags and the files that they name.
    pub(super) fn read(flags: &Flags) -> Result<Self, Error> {
        if !flags.switch("allow-privileged", true) {
            return Err(usage(
                "--allow-privileged=false is not supported by kubewright",
            ));
        }
        for gates in flags.all("feature-gates") {
            feature_gates::check(gates).map_err(usage)?;
        }
        let versions = runtime_config::check(flags.list("runtime-config"));
        if let Some(warning) = versions.map_err(usage)? {
            warn(format_args!("warning: {warning}"));
        }
        let bind = flags.parsed::<IpAddr>("bind-address").map_err(usage)?;
        let port = flags.parsed::<u16>("secure-port").map_err(usage)?;
        let bind = bind.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let address = SocketAddr::new(bind, port.unwrap_or(6443));
        Ok(Self {
            address,
            certificate: serving_certificate(flags, bind)?,
            tokens: tokens(flags)?,
            server: server(flags)?,
            audit: audit(flags)?,
        })
    }
}

/// Returns the certificate to serve with: that of the flags, or `apiserver.crt` in `--cert-dir`, which is created if it is missing.
fn serving_certificate(flags: &Flags, bind: IpAddr) -> Result<ServingCertificate, Error> {
    let given = (
        flags.last("tls-cert-file"),
        flags.last("tls-private-key-file"),
    );
    let (certificate, key) = match given {
        (Some(certificate), Some(key)) => (PathBuf::from(certificate), PathBuf::from(key)),
        (None, None) => {
            let directory = flags.last("cert-dir").unwrap_or("/var/run/kubernetes");
            let directory = Path::new(directory);
            let files = (
                directory.join("apiserver.crt"),
                directory.join("apiserver.key"),
            );
            if !files.0.exists() {
                generate(directory, &files, bind)?;
            }
            files
        }
        _ => {
            return Err(usage(
                "--tls-cert-file and --tls-private-key-file belong together",
            ));
        }
    };
    Ok(ServingCertificate::Files { certificate, key })
}

fn generate(directory: &Path, files: &(PathBuf, PathBuf), bind: IpAddr) -> Result<(), Error> {
    let now = SystemTime::now();
    let names = [
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        bind.to_string(),
    ];
    let signed = CertificateAuthority::generate("kubewright-ca", now)
        .and_then(|authority| authority.sign_server(names, now))
        .map_err(|e| Error::new(e, "check --bind-address"))?;
    let created = std::fs::create_dir_all(directory);
    created.map_err(|e| Error::io("create", directory, &e))?;
    for (path, text) in [
        (&files.0, &signed.certificate_pem),
        (&files.1, &signed.key_pem),
    ] {
        let written = kubewright_cluster::write_secret_file(path, text);
        written.map_err(|e| Error::io("write", path, &e))?;
    }
    Ok(())
}

fn tokens(flags: &Flags) -> Result<Option<Tokens>, Error> {
    let Some(path) = flags.last("token-auth-file") else {
        return Ok(None);
    };
    let tokens = Tokens::read(Path::new(path)).map_err(|e| {
        let problem = format_args!("invalid token file {path}: {e}");
        Error::new(
            problem,
            "use one line token,user,uid,\"group1,group2\" for each token",
        )
    })?;
    Ok(Some(tokens))
}

/// Returns the audit log. As in kube-apiserver, a log without a policy stays empty, and a policy without a log does nothing.
fn audit(flags: &Flags) -> Result<Option<AuditLog>, Error> {
    let format = flags.last("audit-log-format").unwrap_or("json");
    if format != "json" {
        let problem = "kubewright writes json only";
        return Err(usage(invalid("audit-log-format", format, problem)));
    }
    let (policy, log) = (
        flags.last("audit-policy-file"),
        flags.last("audit-log-path"),
    );
    match (policy, log) {
        (Some(policy), Some(log)) => Ok(Some(AuditLog::open(policy.as_ref(), log.as_ref())?)),
        (None, Some(_)) => {
            warn(format_args!(
                "warning: no --audit-policy-file is given, so no events will be recorded in --audit-log-path"
            ));
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Returns the settings of the API server.
fn server(flags: &Flags) -> Result<Configure, Error> {
    let client_ca = file(flags, "client-ca-file")?;
    let front_proxy = front_proxy(flags)?;
    let proxy_certificate = proxy_certificate(flags)?;
    let keys = service_account_keys(flags)?;
    let owned = |name| flags.all(name).map(str::to_owned).collect::<Vec<_>>();
    let listed = |name| flags.list(name).map(str::to_owned).collect::<Vec<_>>();
    let issuers = owned("service-account-issuer");
    let jwks_uri = flags.last("service-account-jwks-uri").map(str::to_owned);
    let max_expiration = match flags.last("service-account-max-token-expiration") {
        Some(text) => {
            let nanoseconds = parse_duration(text)
                .map_err(|e| usage(invalid("service-account-max-token-expiration", text, e)))?;
            Some(Duration::from_nanos(nanoseconds.try_into().unwrap_or(0)))
        }
        None => None,
    };
    let extend = flags.switch("service-account-extend-token-expiration", true);
    let audiences = listed("api-audiences");
    let modes = flags
        .list("authorization-mode")
        .map(|mode| {
            mode.parse::<AuthorizationMode>()
                .map_err(|e| usage(invalid("authorization-mode", mode, e)))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let modes = match modes.is_empty() {
        true => vec![AuthorizationMode::AlwaysAllow],
        false => modes,
    };
    let allows_everything = modes
        .iter()
        .any(|mode| matches!(mode, AuthorizationMode::AlwaysAllow));
    // As in kube-apiserver: anonymous users would be allowed everything.
    let anonymous = match flags.switch("anonymous-auth", true) && !allows_everything {
        true => AnonymousAccess::Enabled,
        false => AnonymousAccess::Disabled,
    };
    let bootstrap_tokens = flags.switch("enable-bootstrap-token-auth", false);
    let range = flags
        .parsed::<ServiceRange>("service-cluster-ip-range")
        .map_err(usage)?;
    let fairness = match flags.switch("enable-priority-and-fairness", true) {
        true => PriorityAndFairness::Enabled,
        false => PriorityAndFairness::Disabled,
    };
    let limits = in_flight_limits(flags)?;
    let enabled = plugins(flags, "enable-admission-plugins")?;
    let disabled = plugins(flags, "disable-admission-plugins")?;
    if let Some(missing) = enabled.iter().find(|plugin| !plugin.is_implemented()) {
        return Err(usage(format!(
            "admission plugin {missing} is not supported by kubewright"
        )));
    }
    Ok(Box::new(move |mut server| {
        if let Some(pem) = client_ca {
            server = server.client_ca(pem);
        }
        if let Some(proxy) = front_proxy {
            server = server.front_proxy(proxy);
        }
        if let Some((certificate, key)) = proxy_certificate {
            server = server.proxy_client_certificate(certificate, key);
        }
        if let Some(keys) = keys {
            server = server.service_account_keys(keys);
        }
        if !issuers.is_empty() {
            server = server.service_account_issuers(issuers);
        }
        if let Some(uri) = jwks_uri {
            server = server.service_account_jwks_uri(uri);
        }
        if let Some(max) = max_expiration {
            server = server.service_account_max_token_expiration(max);
        }
        if !audiences.is_empty() {
            server = server.api_audiences(audiences);
        }
        if let Some(range) = range {
            server = server.service_cluster_ip_range(range);
        }
        server
            .service_account_extend_token_expiration(extend)
            .authorization(modes)
            .anonymous(anonymous)
            .bootstrap_tokens(bootstrap_tokens)
            .priority_and_fairness(fairness)
            .in_flight_limits(limits)
            .enable_admission_plugins(enabled)
            .disable_admission_plugins(disabled)
    }))
}

/// Returns the limits on requests in flight, of which 0 stands for none.
fn in_flight_limits(flags: &Flags) -> Result<InFlightLimits, Error> {
    let mut limits = InFlightLimits::default();
    for (name, limit) in [
        ("max-requests-inflight", &mut limits.read_only),
        ("max-mutating-requests-inflight", &mut limits.mutating),
    ] {
        match flags.parsed::<usize>(name).map_err(usage)? {
            Some(0) => *limit = usize::MAX,
            Some(given) => *limit = given,
            None => {}
        }
    }
    Ok(limits)
}

fn front_proxy(flags: &Flags) -> Result<Option<FrontProxy>, Error> {
    let Some(pem) = file(flags, "requestheader-client-ca-file")? else {
        return Ok(None);
    };
    let listed = |name| flags.list(name).map(str::to_owned).collect::<Vec<_>>();
    let mut proxy = FrontProxy::new(pem);
    proxy.allowed_names = listed("requestheader-allowed-names");
    let headers = &mut proxy.headers;
    for (flag, names) in [
        ("requestheader-username-headers", &mut headers.user),
        ("requestheader-uid-headers", &mut headers.uid),
        ("requestheader-group-headers", &mut headers.group),
        (
            "requestheader-extra-headers-prefix",
            &mut headers.extra_prefix,
        ),
    ] {
        let given = listed(flag);
        if !given.is_empty() {
            *names = given;
        }
    }
    Ok(Some(proxy))
}

/// A certificate and its key in PEM.
type KeyPair = (Vec<u8>, Vec<u8>);

/// Returns the certificate and the key with which the server authenticates itself to aggregated servers.
fn proxy_certificate(flags: &Flags) -> Result<Option<KeyPair>, Error> {
    let certificate = file(flags, "proxy-client-cert-file")?;
    match (certificate, file(flags, "proxy-client-key-file")?) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        _ => Err(usage(
            "--proxy-client-cert-file and --proxy-client-key-file belong together",
        )),
    }
}

/// Returns the key that signs tokens, and the keys that verify them: those of `--service-account-key-file`, or the one that
/// signs if there are none.
fn service_account_keys(flags: &Flags) -> Result<Option<ServiceAccountKeys>, Error> {
    let unusable = |path: &str, e: &dyn std::fmt::Display| {
        let problem = format_args!("cannot use the service-account key {path}: {e}");
        Error::new(problem, "use a PEM file with RSA or ECDSA keys")
    };
    let verifying = || {
        let paths = flags.all("service-account-key-file");
        paths.filter(|path| !path.is_empty())
    };
    let Some(signing) = flags.last("service-account-signing-key-file") else {
        return match verifying().next() {
            None => Ok(None),
            Some(_) => Err(usage(
                "--service-account-key-file needs --service-account-signing-key-file and --service-account-issuer",
            )),
        };
    };
    let pem = read(signing)?;
    let mut keys = ServiceAccountKeys::from_pem(&pem).map_err(|e| unusable(signing, &e))?;
    if verifying().next().is_some() {
        keys = keys.verify_with_none();
    }
    for path in verifying() {
        let pem = read(path)?;
        keys = keys.verify_with_pem(&pem).map_err(|e| unusable(path, &e))?;
    }
    Ok(Some(keys))
}

fn plugins(flags: &Flags, name: &str) -> Result<Vec<PluginName>, Error> {
    flags
        .list(name)
        .map(|plugin| plugin.parse().map_err(|e| usage(invalid(name, plugin, e))))
        .collect()
}

/// Reads the file that a flag names.
fn file(flags: &Flags, name: &str) -> Result<Option<Vec<u8>>, Error> {
    flags.last(name).map(read).transpose()
}

fn read(path: &str) -> Result<Vec<u8>, Error> {
    let path = Path::new(path);
    let mut bytes = Vec::new();
    let opened = File::open(path).and_then(|file| {
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > MAX_FILE_BYTES {
            true => Err(io::Error::other(format!(
                "larger than {MAX_FILE_BYTES} bytes"
            ))),
            false => Ok(()),
        }
    });
    opened.map_err(|e| Error::io("read", path, &e))?;
    Ok(bytes)
}

fn usage(message: impl std::fmt::Display) -> Error {
    Error::new(message, "see kube-apiserver --help")
}

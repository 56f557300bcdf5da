//! [`DelegationOptions`]: what is delegated to the API server of the cluster, and what is configured here.

use std::{path::PathBuf, time::Duration};

use kubewright_apiserver::auth::HeaderNames;

use super::{FlagError, boolean, duration, list};

/// The time that a review is remembered by default.
const CACHED: Duration = Duration::from_secs(10);

/// The options of a [`Delegation`](crate::Delegation).
///
/// ```
/// use std::time::Duration;
///
/// use kubewright_extension_apiserver::{DelegationOptions, Lookup};
///
/// let options = DelegationOptions {
///     lookup: Lookup::Tolerated,
///     token_cache: Duration::from_secs(60),
///     ..DelegationOptions::default()
/// };
/// # let _ = options;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationOptions {
    /// The file with the authorities of clients, in place of those of the cluster.
    pub client_ca_file: Option<PathBuf>,
    /// The proxies that name users in headers, in place of those of the cluster.
    pub proxies: Option<ProxyOptions>,
    /// Whether the authorities are read from the cluster, if they are not in files.
    pub lookup: Lookup,
    /// The time that the result of a TokenReview is used. Defaults to 10 s.
    pub token_cache: Duration,
    /// The time that the permission of a SubjectAccessReview is used. Defaults to 10 s.
    pub authorized_cache: Duration,
    /// The time that the denial of a SubjectAccessReview is used. Defaults to 10 s.
    pub unauthorized_cache: Duration,
}

/// Proxies that name users in headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyOptions {
    /// The file with the authorities of their certificates.
    pub client_ca_file: PathBuf,
    /// The common names that they may have; empty if any will do.
    pub allowed_names: Vec<String>,
    /// The headers.
    pub headers: HeaderNames,
}

/// Whether the authorities of a cluster are looked up in `kube-system/extension-apiserver-authentication`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lookup {
    /// They are, and a failure is an error.
    #[default]
    Required,
    /// They are, and a failure is logged. Client certificates and proxies are then unknown until a later read succeeds.
    Tolerated,
    /// They are not.
    Skipped,
}

impl Default for DelegationOptions {
    fn default() -> Self {
        Self {
            client_ca_file: None,
            proxies: None,
            lookup: Lookup::default(),
            token_cache: CACHED,
            authorized_cache: CACHED,
            unauthorized_cache: CACHED,
        }
    }
}

/// The flags, as they are parsed one by one.
#[derive(Default)]
pub(super) struct Parsed {
    options: DelegationOptions,
    proxy_ca_file: Option<PathBuf>,
    /// The last flag that only matters with the authorities of proxies.
    of_proxies: Option<String>,
    allowed_names: Vec<String>,
    headers: HeaderNames,
    skip: bool,
    tolerate: bool,
}

impl Parsed {
    /// Sets a flag. Returns false if it is not about delegation.
    pub(super) fn set(&mut self, flag: &str, value: &str) -> Result<bool, FlagError> {
        if let Some(name) = flag.strip_prefix("--requestheader-") {
            return self.set_proxies(flag, name, value);
        }
        let options = &mut self.options;
        match flag {
            "--client-ca-file" => options.client_ca_file = Some(value.into()),
            "--authentication-skip-lookup" => self.skip = boolean(flag, value)?,
            "--authentication-tolerate-lookup-failure" => self.tolerate = boolean(flag, value)?,
            "--authentication-token-webhook-cache-ttl" => {
                options.token_cache = duration(flag, value)?;
            }
            "--authorization-webhook-cache-authorized-ttl" => {
                options.authorized_cache = duration(flag, value)?;
            }
            "--authorization-webhook-cache-unauthorized-ttl" => {
                options.unauthorized_cache = duration(flag, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_proxies(&mut self, flag: &str, name: &str, value: &str) -> Result<bool, FlagError> {
        let values = list(value);
        match name {
            "client-ca-file" => {
                self.proxy_ca_file = Some(value.into());
                return Ok(true);
            }
            "allowed-names" => self.allowed_names = values,
            "username-headers" => self.headers.user = values,
            "uid-headers" => self.headers.uid = values,
            "group-headers" => self.headers.group = values,
            "extra-headers-prefix" => self.headers.extra_prefix = values,
            _ => return Ok(false),
        }
        self.of_proxies = Some(flag.to_owned());
        Ok(true)
    }

    /// Returns the options.
    ///
    /// # Errors
    ///
    /// Fails if flags have no effect together.
    pub(super) fn finish(self) -> Result<DelegationOptions, FlagError> {
        let proxies = match (self.proxy_ca_file, self.of_proxies) {
            (Some(client_ca_file), _) => Some(ProxyOptions {
                client_ca_file,
                allowed_names: self.allowed_names,
                headers: self.headers,
            }),
            (None, None) => None,
            (None, Some(flag)) => {
                let needed = "--requestheader-client-ca-file";
                return Err(FlagError::NoEffect(flag, needed));
            }
        };
        Ok(DelegationOptions {
            proxies,
            lookup: match (self.skip, self.tolerate) {
                (true, _) => Lookup::Skipped,
                (false, true) => Lookup::Tolerated,
                (false, false) => Lookup::Required,
            },
            ..self.options
        })
    }
}

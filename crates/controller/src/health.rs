//! [`Checks`]: named checks behind `/healthz` and `/readyz`.
//!
//! Responses are those of controller-runtime and of the API server: `ok`, or one line for each check if something
//! failed or with `?verbose`; `?exclude=name` leaves a check out; `/healthz/name` runs one. The reason of a failure is
//! shown on the check's own path only.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use kubewright_client::BoxError;
use parking_lot::RwLock;

/// A health check.
///
/// ```
/// use kubewright_controller::{BoxError, health::{Check, Checks}};
///
/// struct Disk;
///
/// #[async_trait::async_trait]
/// impl Check for Disk {
///     async fn check(&self) -> Result<(), BoxError> {
///         Err("full".into())
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let checks = Checks::new();
/// checks.add("disk", Disk);
/// assert_eq!(checks.report("", "").await.status, 500);
/// # });
/// ```
#[async_trait::async_trait]
pub trait Check: Send + Sync {
    /// Runs the check.
    ///
    /// # Errors
    ///
    /// Fails if the checked part is unhealthy.
    async fn check(&self) -> Result<(), BoxError>;
}

/// A check that always passes.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use kubewright_controller::health::{Checks, Ping};
///
/// let checks = Checks::new();
/// checks.add("ping", Ping);
/// assert_eq!(checks.report("ping", "").await.body, "ok");
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Ping;

/// Checks by name. Clones share them; checks may be added and removed at any time.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use kubewright_controller::health::{Checks, Ping};
///
/// let checks = Checks::new();
/// checks.add("ping", Ping);
/// checks.add("stock", || Err("no apples".into()));
/// let report = checks.report("", "verbose").await;
/// assert_eq!(report.status, 500);
/// assert_eq!(report.body, "[+]ping ok\n[-]stock failed: reason withheld\nhealthz check failed\n");
/// assert_eq!(checks.report("stock", "").await.body, "internal server error: no apples\n");
/// # });
/// ```
#[derive(Clone)]
pub struct Checks {
    endpoint: &'static str,
    checks: Arc<RwLock<BTreeMap<String, Arc<dyn Check>>>>,
}

/// The response to a health request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The status code: 200, 404 or 500.
    pub status: u16,
    /// The body.
    pub body: String,
}

#[async_trait::async_trait]
impl Check for Ping {
    async fn check(&self) -> Result<(), BoxError> {
        Ok(())
    }
}

#[async_trait::async_trait]
impl<F> Check for F
where
    F: Fn() -> Result<(), BoxError> + Send + Sync,
{
    async fn check(&self) -> Result<(), BoxError> {
        self()
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self::new()
    }
}

impl Checks {
    /// Creates an empty set, which is healthy.
    pub fn new() -> Self {
        Self::of("healthz")
    }

    /// Creates an empty set for another endpoint than `healthz`, whose name is in its reports.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use kubewright_controller::health::Checks;
    ///
    /// let report = Checks::of("readyz").report("", "verbose").await;
    /// assert_eq!(report.body, "[+]ping ok\nreadyz check passed\n");
    /// # });
    /// ```
    pub fn of(endpoint: &'static str) -> Self {
        Self {
            endpoint,
            checks: Arc::default(),
        }
    }

    /// Returns the same checks for another endpoint.
    pub(crate) fn renamed(self, endpoint: &'static str) -> Self {
        Self { endpoint, ..self }
    }

    /// Adds a check, replacing one of the same name.
    pub fn add(&self, name: impl Into<String>, check: impl Check + 'static) {
        self.checks.write().insert(name.into(), Arc::new(check));
    }

    /// Removes a check.
    pub fn remove(&self, name: &str) {
        self.checks.write().remove(name);
    }

    /// Answers a request, given the path below the endpoint without slashes, and the query.
    pub async fn report(&self, name: &str, query: &str) -> Report {
        let checks = self.checks.read().clone();
        if name.is_empty() {
            return all(self.endpoint, &checks, query).await;
        }
        let result = match checks.get(name) {
            Some(check) => check.check().await,
            None if checks.is_empty() && name == "ping" => Ok(()),
            None => return Report::new(404, "404 page not found\n"),
        };
        match result {
            Ok(()) => Report::new(200, "ok"),
            Err(e) => Report::new(500, format!("internal server error: {e}\n")),
        }
    }
}

async fn all(endpoint: &str, checks: &BTreeMap<String, Arc<dyn Check>>, query: &str) -> Report {
    let mut excluded = values(query, "exclude");
    let verbose = !values(query, "verbose").is_empty();
    let mut failed = false;
    let mut text = String::new();
    for (name, check) in checks {
        if excluded.contains(name) {
            excluded.retain(|excluded| excluded != name);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "[+]{name} excluded: ok");
        } else if let Err(e) = check.check().await {
            tracing::debug!(check = name, "health check failed: {e}");
            failed = true;
            let _ = writeln!(text, "[-]{name} failed: reason withheld");
        } else {
            let _ = writeln!(text, "[+]{name} ok");
        }
    }
    if !failed && !verbose {
        return Report::new(200, "ok");
    }
    if checks.is_empty() {
        text.push_str("[+]ping ok\n");
    }
    if !excluded.is_empty() {
        let names: Vec<_> = excluded.iter().map(|name| format!("{name:?}")).collect();
        let names = names.join(",");
        let _ = writeln!(
            text,
            "warn: some health checks cannot be excluded: no matches for {names}"
        );
    }
    let (status, end) = if failed {
        (500, "failed")
    } else {
        (200, "passed")
    };
    let _ = writeln!(text, "{endpoint} check {end}");
    Report::new(status, text)
}

/// Returns the values of a query parameter, each once.
fn values(query: &str, name: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = value.replace('+', " ");
        let value = percent_encoding::percent_decode_str(&value).decode_utf8_lossy();
        if key == name && !values.iter().any(|v| *v == value) {
            values.push(value.into_owned());
        }
    }
    values
}

impl Report {
    fn new(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            body: body.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Checks {
        let checks = Checks::new();
        checks.add("b", || Err("secret".into()));
        checks.add("a", Ping);
        checks
    }

    async fn said(checks: &Checks, name: &str, query: &str) -> (u16, String) {
        let report = checks.report(name, query).await;
        (report.status, report.body)
    }

    #[tokio::test]
    async fn without_checks_all_is_well() {
        let checks = Checks::new();
        assert_eq!(said(&checks, "", "").await, (200, "ok".into()));
        assert_eq!(said(&checks, "ping", "").await, (200, "ok".into()));
        assert_eq!(
            said(&checks, "", "verbose").await,
            (200, "[+]ping ok\nhealthz check passed\n".into())
        );
    }

    #[tokio::test]
    async fn a_failure_is_named_and_its_reason_withheld() {
        assert_eq!(
            said(&some(), "", "").await,
            (
                500,
                "[+]a ok\n[-]b failed: reason withheld\nhealthz check failed\n".into()
            )
        );
    }

    #[tokio::test]
    async fn each_endpoint_names_itself() {
        let checks = Checks::of("readyz");
        checks.add("a", || Err("secret".into()));
        assert_eq!(
            said(&checks, "", "").await.1,
            "[-]a failed: reason withheld\nreadyz check failed\n"
        );
        let passed = "[+]ping ok\nreadyz check passed\n";
        assert_eq!(said(&Checks::of("readyz"), "", "verbose").await.1, passed);
    }

    #[tokio::test]
    async fn an_excluded_check_does_not_count() {
        assert_eq!(said(&some(), "", "exclude=b").await, (200, "ok".into()));
        assert_eq!(
            said(&some(), "", "exclude=b&verbose=1&exclude=x%20y").await,
            (
                200,
                "[+]a ok\n[+]b excluded: ok\n\
                 warn: some health checks cannot be excluded: no matches for \"x y\"\n\
                 healthz check passed\n"
                    .into()
            )
        );
    }

    #[tokio::test]
    async fn one_check_says_why_it_failed() {
        let checks = some();
        assert_eq!(said(&checks, "a", "").await, (200, "ok".into()));
        assert_eq!(
            said(&checks, "b", "").await,
            (500, "internal server error: secret\n".into())
        );
        assert_eq!(
            said(&checks, "c", "").await,
            (404, "404 page not found\n".into())
        );
        checks.remove("b");
        assert_eq!(said(&checks, "", "").await, (200, "ok".into()));
    }
}

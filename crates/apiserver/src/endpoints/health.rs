//! `/healthz`, `/livez`, `/readyz`: named checks, in the text format of kube-apiserver.
//!
//! A probe runs its checks in the order in which they were added. Without `?verbose` a healthy server responds with `ok`; an
//! unhealthy one lists all checks without reasons, which only the path of a check (`/livez/storage`) shows. `?exclude=name`
//! skips a check.

use std::{fmt::Write, sync::Arc};

use futures_util::future::{BoxFuture, FutureExt};
use http::{HeaderValue, Response, StatusCode, header};
use kubewright_machinery::go;

use crate::{body::Body, request::query::Query};

/// A health probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// `/healthz`, deprecated.
    Healthz,
    /// `/livez`: fails if the server must be restarted.
    Livez,
    /// `/readyz`: fails if the server must not get requests.
    Readyz,
}

/// Succeeds, possibly with a note, or fails with a reason.
type CheckFn = Arc<dyn Fn() -> BoxFuture<'static, Result<Option<String>, String>> + Send + Sync>;

#[derive(Clone)]
struct Check {
    name: String,
    probes: &'static [Probe],
    run: CheckFn,
}

/// The health checks of a server.
///
/// ```
/// use kubewright_apiserver::HealthChecks;
///
/// let checks = HealthChecks::new().check("storage", || Err("disk full".into()));
/// # let _ = checks;
/// ```
#[derive(Clone, Default)]
pub struct HealthChecks {
    checks: Vec<Check>,
}

impl Probe {
    /// All probes.
    pub const ALL: [Probe; 3] = [Probe::Healthz, Probe::Livez, Probe::Readyz];

    /// Returns the name, such as `livez`.
    pub fn name(self) -> &'static str {
        match self {
            Probe::Healthz => "healthz",
            Probe::Livez => "livez",
            Probe::Readyz => "readyz",
        }
    }

    /// Parses a path into a probe and the name of a check below it: `/livez/ping`.
    pub fn of_path(path: &str) -> Option<(Probe, Option<&str>)> {
        let path = path.strip_prefix('/')?;
        let (name, check) = match path.split_once('/') {
            Some((name, check)) => (name, Some(check)),
            None => (path, None),
        };
        let probe = Self::ALL.into_iter().find(|probe| probe.name() == name)?;
        Some((probe, check))
    }
}

impl HealthChecks {
    /// Returns an empty list of checks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check to all probes. It runs on every request to a probe and must be fast. The error is the reason.
    #[must_use]
    pub fn check(
        self,
        name: impl Into<String>,
        run: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.check_for(&Probe::ALL, name, run)
    }

    /// Adds a check to some probes.
    #[must_use]
    pub fn check_for(
        self,
        probes: &'static [Probe],
        name: impl Into<String>,
        run: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.check_async(probes, name, move || std::future::ready(run()))
    }

    /// Adds a check that has to wait for its answer, such as a read from the store, to some probes.
    #[must_use]
    pub fn check_async<F>(
        self,
        probes: &'static [Probe],
        name: impl Into<String>,
        run: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.check_noted(probes, name, move || {
            run().map(|checked| checked.map(|()| None))
        })
    }

    /// Adds a check whose success may carry a note, which `?verbose` shows to every client: what does not work although the
    /// server must get requests.
    #[must_use]
    pub fn check_noted<F>(
        mut self,
        probes: &'static [Probe],
        name: impl Into<String>,
        run: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Option<String>, String>> + Send + 'static,
    {
        self.checks.push(Check {
            name: name.into(),
            probes,
            run: Arc::new(move || run().boxed()),
        });
        self
    }

    /// Responds to `/livez` and the other probes.
    pub async fn answer(&self, probe: Probe, query: &Query) -> Response<Body> {
        let mut unmatched: Vec<&str> = query.all("exclude").collect();
        let excluded = unmatched.clone();
        let mut text = String::new();
        let mut failed = false;
        for check in self.of(probe) {
            if excluded.contains(&check.name.as_str()) {
                unmatched.retain(|name| *name != check.name);
                let _ = writeln!(text, "[+]{} excluded: ok", check.name);
                continue;
            }
            match (check.run)().await {
                Ok(None) => {
                    let _ = writeln!(text, "[+]{} ok", check.name);
                }
                Ok(Some(note)) => {
                    let _ = writeln!(text, "[+]{} ok: {note}", check.name);
                }
                Err(reason) => {
                    failed = true;
                    tracing::warn!(
                        probe = probe.name(),
                        check = check.name,
                        reason,
                        "check failed"
                    );
                    let _ = writeln!(text, "[-]{} failed: reason withheld", check.name);
                }
            }
        }
        if !unmatched.is_empty() {
            unmatched.sort_unstable();
            unmatched.dedup();
            let names: Vec<String> = unmatched.iter().map(|name| go::quote(name)).collect();
            let _ = writeln!(
                text,
                "warn: some health checks cannot be excluded: no matches for {}",
                names.join(",")
            );
        }
        if failed {
            let _ = writeln!(text, "{} check failed", probe.name());
            return plain(StatusCode::INTERNAL_SERVER_ERROR, text, true);
        }
        if query.first("verbose").is_none() {
            return plain(StatusCode::OK, "ok".to_owned(), true);
        }
        let _ = writeln!(text, "{} check passed", probe.name());
        plain(StatusCode::OK, text, true)
    }

    /// Responds to the path of a check, such as `/livez/ping`, or returns `None` if there is no such check.
    pub async fn answer_one(&self, probe: Probe, name: &str) -> Option<Response<Body>> {
        let check = self.of(probe).find(|check| check.name == name)?;
        Some(match (check.run)().await {
            Ok(_) => plain(StatusCode::OK, "ok".to_owned(), false),
            Err(reason) => plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("internal server error: {reason}\n"),
                true,
            ),
        })
    }

    /// Returns every path of the checks, for the list at `/`.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for probe in Probe::ALL {
            paths.push(format!("/{}", probe.name()));
            paths.extend(
                self.of(probe)
                    .map(|check| format!("/{}/{}", probe.name(), check.name)),
            );
        }
        paths
    }

    fn of(&self, probe: Probe) -> impl Iterator<Item = &Check> {
        self.checks
            .iter()
            .filter(move |check| check.probes.contains(&probe))
    }
}

fn plain(status: StatusCode, text: String, nosniff: bool) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    if nosniff {
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(checks: &HealthChecks, probe: Probe, query: &str) -> (u16, String) {
        read(checks.answer(probe, &Query::parse(Some(query))).await).await
    }

    async fn read(response: Response<Body>) -> (u16, String) {
        let status = response.status().as_u16();
        assert_eq!(
            response.headers()["content-type"],
            "text/plain; charset=utf-8"
        );
        let body = response
            .into_body()
            .collect_up_to(10_000)
            .await
            .unwrap()
            .unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    fn healthy() -> HealthChecks {
        HealthChecks::new()
            .check("ping", || Ok(()))
            .check("storage", || Ok(()))
    }

    #[tokio::test]
    async fn healthy_servers_say_ok_or_list_their_checks() {
        let checks = healthy();
        assert_eq!(ask(&checks, Probe::Livez, "").await, (200, "ok".into()));
        assert_eq!(
            ask(&checks, Probe::Livez, "verbose").await,
            (
                200,
                "[+]ping ok\n[+]storage ok\nlivez check passed\n".into()
            )
        );
        assert_eq!(
            ask(&checks, Probe::Readyz, "verbose=1&exclude=ping").await,
            (
                200,
                "[+]ping excluded: ok\n[+]storage ok\nreadyz check passed\n".into()
            )
        );
        assert_eq!(
            ask(
                &checks,
                Probe::Healthz,
                "verbose&exclude=z&exclude=a&exclude=z"
            )
            .await
            .1,
            "[+]ping ok\n[+]storage ok\nwarn: some health checks cannot be excluded: no matches for \"a\",\"z\"\nhealthz check passed\n"
        );
        assert_eq!(
            ask(&checks, Probe::Livez, "exclude=nope").await,
            (200, "ok".into())
        );
    }

    #[tokio::test]
    async fn a_note_is_shown_without_a_failure() {
        let noted = || std::future::ready(Ok(Some("the disk is full".to_owned())));
        let checks = healthy().check_noted(&[Probe::Readyz], "space", noted);
        assert_eq!(ask(&checks, Probe::Readyz, "").await, (200, "ok".into()));
        assert_eq!(
            ask(&checks, Probe::Readyz, "verbose").await.1,
            "[+]ping ok\n[+]storage ok\n[+]space ok: the disk is full\nreadyz check passed\n"
        );
        let one = checks.answer_one(Probe::Readyz, "space").await.unwrap();
        assert_eq!(read(one).await, (200, "ok".into()));
    }

    #[tokio::test]
    async fn sick_servers_list_everything_and_withhold_the_reason() {
        let checks = healthy().check_for(&[Probe::Readyz], "shutdown", || Err("going down".into()));
        assert_eq!(ask(&checks, Probe::Livez, "").await, (200, "ok".into()));
        assert_eq!(
            ask(&checks, Probe::Readyz, "").await,
            (500, "[+]ping ok\n[+]storage ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n".into())
        );
        assert_eq!(
            ask(&checks, Probe::Readyz, "exclude=shutdown").await,
            (200, "ok".into())
        );
        let one = checks.answer_one(Probe::Readyz, "shutdown").await.unwrap();
        assert_eq!(
            read(one).await,
            (500, "internal server error: going down\n".into())
        );
        let one = checks.answer_one(Probe::Readyz, "ping").await.unwrap();
        assert_eq!(read(one).await, (200, "ok".into()));
        assert!(checks.answer_one(Probe::Livez, "shutdown").await.is_none());
        assert!(checks.answer_one(Probe::Livez, "").await.is_none());
    }

    #[test]
    fn paths_lead_to_probes_and_checks() {
        assert_eq!(Probe::of_path("/livez"), Some((Probe::Livez, None)));
        assert_eq!(
            Probe::of_path("/readyz/a/b"),
            Some((Probe::Readyz, Some("a/b")))
        );
        assert_eq!(Probe::of_path("/livez/"), Some((Probe::Livez, Some(""))));
        assert_eq!(Probe::of_path("/livezz"), None);
        assert_eq!(Probe::of_path(""), None);
        let checks = HealthChecks::new().check("ping", || Ok(()));
        assert_eq!(
            checks.paths(),
            [
                "/healthz",
                "/healthz/ping",
                "/livez",
                "/livez/ping",
                "/readyz",
                "/readyz/ping"
            ]
        );
    }
}

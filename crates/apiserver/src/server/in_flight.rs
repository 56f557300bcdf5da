//! [`InFlightLimits`]: bounds on the requests in flight and on the memory for their bodies.
//!
//! Two atomic additions admit a request and two release it; nothing waits.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use http::Response;
use http_body::Body as _;
use tokio::time::Instant;

use crate::{
    auth::MASTERS,
    body::Body,
    endpoints::metrics::Effect,
    flow::{Flow, Overloaded},
    request::{RequestInfo, UserInfo},
};

/// The value of `Retry-After`, in seconds.
pub(crate) const RETRY_AFTER: u16 = 1;

/// The bytes of a body that count only as a request in flight.
const FREE_BYTES: usize = 64 << 10;

/// A response of more bytes counts as in flight until it has been sent, even if it is complete in memory.
const LARGE_RESPONSE: u64 = 64 << 10;

/// The paths of probes, which kube-apiserver exempts: a server that is busy is not dead.
const PROBES: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// The bounds on requests in flight. A request beyond them is answered with 429 and `Retry-After: 1`.
///
/// A request is in flight until its response has been sent. Watches and other streams are not counted, nor are probes and the
/// requests of members of `system:masters`.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http::Request;
/// use kubewright_apiserver::{ApiServer, Body, InFlightLimits, registry::Registry};
///
/// let limits = InFlightLimits { read_only: 0, ..InFlightLimits::default() };
/// let server = ApiServer::builder(Registry::default()).in_flight_limits(limits).build();
/// let get = |path| Request::get(path).body(Body::empty()).unwrap();
/// assert_eq!(server.handle(get("/version")).await.status(), 429);
/// assert_eq!(server.handle(get("/livez")).await.status(), 200);
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlightLimits {
    /// The maximum number of requests that read. Defaults to 400, as in kube-apiserver.
    pub read_only: usize,
    /// The maximum number of requests that write. Defaults to 200, as in kube-apiserver.
    pub mutating: usize,
    /// The maximum of bytes that the bodies of all requests may hold together. The first 64 KiB of each body are not counted,
    /// so that small requests are still read when large ones have used it up. Defaults to 64 MiB.
    pub body_bytes: usize,
}

impl Default for InFlightLimits {
    fn default() -> Self {
        Self {
            read_only: 400,
            mutating: 200,
            body_bytes: 64 << 20,
        }
    }
}

/// The requests in flight of a server.
pub(super) struct InFlight {
    limits: InFlightLimits,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    read_only: AtomicUsize,
    mutating: AtomicUsize,
    body_bytes: AtomicUsize,
}

/// A request in flight, until it is dropped.
pub(crate) struct Seat {
    counts: Arc<Counts>,
    effect: Effect,
    body_limit: usize,
    body_bytes: AtomicUsize,
}

/// Facts about a request, set on its way to its handler.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) flow: OnceLock<Flow>,
    /// The end of the request's time; unset if it may last.
    pub(super) deadline: OnceLock<Instant>,
    pub(super) seat: OnceLock<Arc<Seat>>,
}

impl InFlight {
    pub(super) fn new(limits: InFlightLimits) -> Self {
        Self {
            limits,
            counts: Arc::default(),
        }
    }

    /// Admits a request of a user unless there are too many.
    pub(super) fn admit(
        &self,
        user: &UserInfo,
        info: &RequestInfo,
    ) -> Result<Option<Arc<Seat>>, Overloaded> {
        if user.groups.iter().any(|group| group == MASTERS) || is_probe(info) {
            return Ok(None);
        }
        let effect = match info.verb.is_write() {
            true => Effect::Mutating,
            false => Effect::ReadOnly,
        };
        let limit = match effect {
            Effect::Mutating => self.limits.mutating,
            Effect::ReadOnly => self.limits.read_only,
        };
        if !take(self.counts.of(effect), 1, limit) {
            return Err(Overloaded {
                retry_after: RETRY_AFTER,
            });
        }
        Ok(Some(Arc::new(Seat {
            counts: self.counts.clone(),
            effect,
            body_limit: self.limits.body_bytes,
            body_bytes: AtomicUsize::new(0),
        })))
    }
}

impl Counts {
    fn of(&self, effect: Effect) -> &AtomicUsize {
        match effect {
            Effect::Mutating => &self.mutating,
            Effect::ReadOnly => &self.read_only,
        }
    }
}

impl Seat {
    /// Counts a body that has grown to `size` bytes. Returns whether there is room for it.
    pub(crate) fn grow_body(&self, size: usize) -> bool {
        let counted = size.saturating_sub(FREE_BYTES);
        let more = counted.saturating_sub(self.body_bytes.load(Ordering::Relaxed));
        if more == 0 {
            return true;
        }
        let fits = take(&self.counts.body_bytes, more, self.body_limit);
        if fits {
            self.body_bytes.fetch_add(more, Ordering::Relaxed);
        }
        fits
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.counts.of(self.effect).fetch_sub(1, Ordering::Relaxed);
        let bytes = *self.body_bytes.get_mut();
        self.counts.body_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Facts {
    /// Keeps a request in flight until its response has been sent, and ends a response that takes longer than the request may.
    pub(super) fn bound(self, response: Response<Body>) -> Response<Body> {
        let (Some(deadline), body) = (self.deadline.into_inner(), response.body()) else {
            return response;
        };
        let small = |size: u64| size <= LARGE_RESPONSE;
        if body.is_whole() && body.size_hint().exact().is_some_and(small) {
            return response;
        }
        let seat = self.seat.into_inner();
        response.map(|body| body.with_guard(seat).until(deadline))
    }
}

/// Adds to a count unless it would exceed the limit.
fn take(count: &AtomicUsize, more: usize, limit: usize) -> bool {
    let before = count.fetch_add(more, Ordering::Relaxed);
    let fits = before.checked_add(more).is_some_and(|sum| sum <= limit);
    if !fits {
        count.fetch_sub(more, Ordering::Relaxed);
    }
    fits
}

fn is_probe(info: &RequestInfo) -> bool {
    !info.is_resource
        && PROBES.iter().any(|probe| {
            let rest = info.path.strip_prefix(probe);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

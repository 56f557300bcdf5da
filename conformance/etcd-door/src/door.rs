//! [`Door`]: connections, and the methods of etcd's services.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_store::{Revision, Store};
use parking_lot::Mutex;
use tokio::{net::TcpListener, task::JoinSet};

use crate::{
    call::{CallError, ReplyBody, one, reply},
    frame::Frames,
    kv,
    leases::Leases,
    messages::{
        Op, OpAnswer, RangeRequest, TxnRequest, first_number, header_only, lease_answer,
        lease_request, members_answer, status_answer, txn_answer,
    },
    watch,
};

/// The largest request: etcd's own limit, and some more for its keys.
const MAX_REQUEST: usize = 2 << 20;

/// A door that is not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoorError {
    /// The address is not one of the loopback device.
    #[error(
        "{0} is not an address of the loopback device; nobody is authenticated here, so listen on 127.0.0.1"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The store cannot be read.
    #[error("the store cannot be used: {0}")]
    Store(String),
    /// The store begins before the first revision of etcd.
    #[error(
        "the store is at revision 0, and an empty etcd is at 1; open it with 1 as its first revision"
    )]
    Revision,
}

/// The API of etcd in front of a store, until it is dropped.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use kubewright_etcd_door::Door;
/// use kubewright_store::{MemoryStore, Revision};
///
/// let store = MemoryStore::starting_at(Revision(1));
/// let door = Door::open("127.0.0.1:0".parse().unwrap(), Arc::new(store)).await?;
/// println!("etcdctl --endpoints {} get --prefix /registry", door.address());
/// # Ok::<_, kubewright_etcd_door::DoorError>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Door {
    address: SocketAddr,
    _accepting: JoinSet<()>,
}

/// The state that all connections share.
struct Inside {
    store: Arc<dyn Store>,
    leases: Leases,
    /// The revision of the last compaction.
    compacted: Mutex<Revision>,
    url: String,
}

impl Door {
    /// Opens a door to a store.
    ///
    /// # Errors
    ///
    /// Fails if the address is not one of the loopback device or cannot be listened on, or if the store is at revision zero.
    pub async fn open(address: SocketAddr, store: Arc<dyn Store>) -> Result<Self, DoorError> {
        if !address.ip().is_loopback() {
            return Err(DoorError::NotLoopback(address));
        }
        let current = store.current().await;
        let current = current.map_err(|error| DoorError::Store(error.to_string()))?;
        if current == Revision(0) {
            return Err(DoorError::Revision);
        }
        let failed = |source| DoorError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let inside = Arc::new(Inside {
            store,
            leases: Leases::default(),
            compacted: Mutex::default(),
            url: format!("http://{address}"),
        });
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, inside));
        Ok(Self {
            address,
            _accepting: accepting,
        })
    }

    /// Returns the address, with the port that the system has chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener, inside: Arc<Inside>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let inside = Arc::clone(&inside);
        connections.spawn(async move {
            // Without it, small answers wait for acknowledgements.
            let _ = stream.set_nodelay(true);
            let service = service_fn(move |request| {
                let inside = Arc::clone(&inside);
                async move { Ok::<_, Infallible>(inside.answer(request).await) }
            });
            let builder = http2::Builder::new(TokioExecutor::new());
            let served = builder.serve_connection(TokioIo::new(stream), service);
            if let Err(error) = served.await {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
}

impl Inside {
    async fn answer(&self, request: Request<Incoming>) -> Response<ReplyBody> {
        let path = request.uri().path().to_owned();
        if path == "/etcdserverpb.Watch/Watch" {
            let store = Arc::clone(&self.store);
            return reply(Ok(watch::serve(store, request.into_body())));
        }
        let called = match message(request.into_body()).await {
            Ok(message) => self.call(&path, message).await,
            Err(error) => Err(error),
        };
        reply(called.map(|answer| one(&answer)))
    }

    async fn call(&self, path: &str, message: Bytes) -> Result<Vec<u8>, CallError> {
        let store = &*self.store;
        match path {
            "/etcdserverpb.KV/Range" => {
                let request = RangeRequest::read(message)?;
                let (revision, range) = kv::range(store, &request).await?;
                Ok(OpAnswer::Range(range).alone(revision.0))
            }
            "/etcdserverpb.KV/Txn" => {
                let txn = TxnRequest::read(message)?;
                let done = kv::transact(store, &self.leases, &txn).await?;
                Ok(txn_answer(done.revision.0, done.succeeded, &done.answers))
            }
            "/etcdserverpb.KV/Put" => self.write(Op::read_put(message)?).await,
            "/etcdserverpb.KV/DeleteRange" => self.write(Op::read_delete(message)?).await,
            "/etcdserverpb.KV/Compact" => self.compact(first_number(message)?).await,
            "/etcdserverpb.Lease/LeaseGrant" => {
                let (seconds, id) = lease_request(message)?;
                let id = self.leases.grant(seconds, id)?;
                Ok(lease_answer(store.current().await?.0, id, seconds))
            }
            "/etcdserverpb.Maintenance/Status" => Ok(status_answer(store.current().await?.0)),
            "/etcdserverpb.Cluster/MemberList" => {
                Ok(members_answer(store.current().await?.0, &self.url))
            }
            path => Err(CallError::unimplemented(path)),
        }
    }

    /// Runs one write without a condition.
    async fn write(&self, op: Op) -> Result<Vec<u8>, CallError> {
        let txn = TxnRequest::of(op);
        let done = kv::transact(&*self.store, &self.leases, &txn).await?;
        let answer = done.answers.first();
        let answer = answer.ok_or_else(|| CallError::unimplemented("this write"))?;
        Ok(answer.alone(done.revision.0))
    }

    async fn compact(&self, floor: i64) -> Result<Vec<u8>, CallError> {
        let floor = Revision(floor.unsigned_abs());
        if floor <= *self.compacted.lock() {
            return Err(CallError::compacted());
        }
        self.store.compact(floor).await?;
        self.note_compaction(floor);
        Ok(header_only(self.store.current().await?.0))
    }

    fn note_compaction(&self, floor: Revision) {
        let mut compacted = self.compacted.lock();
        *compacted = floor.max(*compacted);
    }
}

/// Reads the message of a call.
async fn message(body: Incoming) -> Result<Bytes, CallError> {
    let body = Limited::new(body, MAX_REQUEST).collect().await;
    let body = body.map_err(|_| CallError::too_large())?.to_bytes();
    let mut frames = Frames::default();
    frames.push(&body);
    let message = frames.next().map_err(CallError::invalid)?;
    message.ok_or_else(|| CallError::invalid("the request has no message"))
}

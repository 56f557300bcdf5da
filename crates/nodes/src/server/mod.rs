//! The API of kubelets, to which an API server forwards requests, and connections to the ports of pods.

mod attach;
mod forward;
mod logs;
mod stats;

pub(crate) use stats::Used;

use std::{io, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use kubewright_informer::Key;
use kubewright_machinery::Status;
use kubewright_streams::{
    ExecOptions, KubeletBody, Kubelets, PodConnection, Streams, ports_from_query,
};
use tokio::io::DuplexStream;

use crate::{
    inside::Process,
    logs::Log,
    nodes::{Known, Nodes, Shared},
    web_server::WebServer,
};

/// The status code and message of a rejected request.
type Refused = (StatusCode, String);

#[async_trait]
impl Kubelets for Nodes {
    async fn call(
        &self,
        node: &str,
        request: Request<KubeletBody>,
    ) -> io::Result<Response<KubeletBody>> {
        let is_alive = {
            let nodes = self.0.nodes.lock();
            nodes.get(node).map(|node| node.is_alive)
        };
        match is_alive {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(false) => return Err(io::ErrorKind::ConnectionRefused.into()),
            Some(true) => {}
        }
        let answer = self.0.answer(node, request).await;
        Ok(answer.unwrap_or_else(|(code, message)| text(code, message)))
    }

    async fn connect(&self, address: IpAddr, port: u16) -> io::Result<PodConnection> {
        let connection = self.0.network.enter(address, port).await?;
        Ok(Box::pin(connection))
    }
}

impl Shared {
    async fn answer(
        self: &Arc<Self>,
        node: &str,
        mut request: Request<KubeletBody>,
    ) -> Result<Response<KubeletBody>, Refused> {
        let path = request.uri().path().to_owned();
        let query = request.uri().query().unwrap_or_default().to_owned();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match parts[..] {
            ["containerLogs", namespace, pod, container] => {
                self.logs(namespace, pod, container, &query)
            }
            ["exec", namespace, pod, container] => {
                let (key, known) = self.pod(namespace, pod)?;
                let (i, log) = self.running(&known, container)?;
                let inside = self.inside(&key, &known, i).await;
                let inside = inside.ok_or_else(|| missing(container))?;
                let process = Arc::new(Process { inside, log });
                let options = ExecOptions::from_query(&query);
                opened(Streams::default().exec(&mut request, options, process))
            }
            ["attach", namespace, pod, container] => {
                let (key, known) = self.pod(namespace, pod)?;
                let (i, log) = self.running(&known, container)?;
                let attached = self.attached(&key, &known, i, log);
                let attached = Arc::new(attached.ok_or_else(|| missing(container))?);
                let options = ExecOptions::from_query(&query);
                opened(Streams::default().exec(&mut request, options, attached))
            }
            ["portForward", namespace, pod] => {
                let (key, known) = self.pod(namespace, pod)?;
                let ports = ports_from_query(&query).map_err(refused)?;
                let handler = Arc::new(self.forwarding(&key, &known)?);
                opened(Streams::default().port_forward(&mut request, ports, handler))
            }
            _ => self.report(node, &parts),
        }
    }

    /// Returns a running pod.
    fn pod(&self, namespace: &str, pod: &str) -> Result<(Key, Known), Refused> {
        let key = Key::new(Some(namespace), pod);
        let known = self.pods.lock().get(&key).cloned();
        let missing = || (StatusCode::NOT_FOUND, "pod does not exist".to_owned());
        Ok((key, known.ok_or_else(missing)?))
    }

    /// Returns the index and the log of a running container.
    fn running(&self, known: &Known, container: &str) -> Result<(usize, Log), Refused> {
        let state = known.state.lock();
        let found = state.names.iter().position(|name| **name == *container);
        let found = found.map(|i| (i, &state.containers[i]));
        let (i, found) = found
            .filter(|(_, found)| found.is_running())
            .ok_or_else(|| missing(container))?;
        Ok((i, found.log.clone()))
    }

    /// Serves a connection to a port of a pod. Returns false if none of its containers serves the port.
    pub(crate) async fn serve(
        self: &Arc<Self>,
        key: &Key,
        port: u16,
        connection: DuplexStream,
        from: std::net::Ipv4Addr,
    ) -> bool {
        let (Some(plan), Some(known)) = (self.plan(key), self.pods.lock().get(key).cloned()) else {
            return false;
        };
        for (i, container) in plan.containers.iter().enumerate() {
            let log = {
                let state = known.state.lock();
                let state = state.containers.get(i).filter(|state| state.is_running());
                // A registered image takes precedence over well-known ones.
                let serves = state.is_some_and(|state| state.function.is_none())
                    && !self.images.is_registered(&container.raw.image);
                state.filter(|_| serves).map(|state| state.log.clone())
            };
            let server = WebServer::of(container).filter(|(_, known)| *known == port);
            let (Some(log), Some((server, _))) = (log, server) else {
                continue;
            };
            let Some(inside) = self.inside(key, &known, i).await else {
                continue;
            };
            let clock = self.clock();
            let ended = log.clone();
            let write = move |line: String| log.write(clock(), &line);
            tokio::spawn(async move {
                tokio::select! {
                    () = server.serve(inside, connection, from, write) => {}
                    () = ended.ended() => {}
                }
            });
            return true;
        }
        false
    }
}

fn missing(container: &str) -> Refused {
    let text = format!("container not found ({container:?})");
    (StatusCode::INTERNAL_SERVER_ERROR, text)
}

fn refused(status: Status) -> Refused {
    let code = StatusCode::from_u16(status.code);
    (
        code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        status.message,
    )
}

fn opened(answer: Result<Response<Bytes>, Status>) -> Result<Response<KubeletBody>, Refused> {
    Ok(answer.map_err(refused)?.map(whole))
}

/// Returns a body from bytes.
fn whole(bytes: Bytes) -> KubeletBody {
    Box::pin(Full::new(bytes).map_err(|never| match never {}))
}

fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<KubeletBody> {
    let mut response = Response::new(whole(text.into()));
    *response.status_mut() = code;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

//! Probes and lifecycle hooks that are executed: commands in containers, and connections to ports.

use std::{sync::Arc, time::Duration};

use http::Request;
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use kubewright_controller::Request as Reconcile;
use kubewright_informer::Key;
use kubewright_serve::connect_unverified;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use crate::{
    nodes::{Known, Shared},
    pod::{
        HookKind, ProbeKind,
        plan::{Plan, PortAction, Probe},
    },
};

impl Shared {
    /// Runs a probe. Returns the reason if it failed.
    pub(crate) async fn check(
        &self,
        plan: &Plan,
        known: &Known,
        i: usize,
        kind: ProbeKind,
    ) -> Option<String> {
        let container = plan.containers.get(i)?;
        let probe = container.probe(kind)?;
        let limit = Duration::from_secs(probe.timeout_seconds.max(1));
        let run = self.run_probe(plan, known, i, probe);
        match tokio::time::timeout(limit, run).await {
            Ok(result) => result.err(),
            Err(_) if probe.exec.is_some() => {
                Some(format!("command timed out after {}s", limit.as_secs()))
            }
            Err(_) => Some("context deadline exceeded".to_owned()),
        }
    }

    async fn run_probe(
        &self,
        plan: &Plan,
        known: &Known,
        i: usize,
        probe: &Probe,
    ) -> Result<(), String> {
        if let Some(exec) = &probe.exec {
            let inside = self.inside(&plan.key, known, i).await;
            let inside = inside.ok_or("container not found")?;
            return match inside.check(&exec.command).await {
                (0, _) => Ok(()),
                (_, printed) => Err(printed),
            };
        }
        let container = &plan.containers[i];
        let port = probe.port(container).ok_or("couldn't find the port")?;
        let ip = known.state.lock().ip;
        let ip = ip.or_else(|| self.address_of(&plan.spec.node_name));
        let ip = ip.ok_or("the pod has no address")?;
        let from = self.address_of(&plan.spec.node_name).unwrap_or(ip);
        let refused = |error: String| match &probe.http_get {
            Some(get) => {
                let scheme = get.scheme.to_lowercase();
                format!("Get \"{scheme}://{ip}:{port}{}\": {error}", get.path)
            }
            None => error,
        };
        let connection = self.network.dial(from, ip, port).await;
        let connection = connection
            .map_err(|_| refused(format!("dial tcp {ip}:{port}: connect: connection refused")))?;
        match &probe.http_get {
            None => Ok(()),
            Some(get) => match status(connection, get, &ip.to_string(), port).await {
                Ok(200..400) => Ok(()),
                Ok(code) => Err(format!("HTTP probe failed with statuscode: {code}")),
                Err(error) => Err(refused(error)),
            },
        }
    }
}

impl Shared {
    /// Runs a lifecycle hook in a task of its own, and wakes the kubelet when it has ended.
    pub(crate) fn spawn_hook(self: &Arc<Self>, key: &Key, known: &Known, i: usize, kind: HookKind) {
        let (nodes, key, known) = (self.clone(), key.clone(), known.clone());
        tokio::spawn(async move {
            let result = nodes.run_hook(&key, &known, i, kind).await;
            if let Err(error) = &result {
                tracing::debug!(pod = %key, ?kind, %error, "a lifecycle hook failed");
            }
            if let Some(container) = known.state.lock().containers.get_mut(i) {
                container.hook_ended(kind, result.is_err());
            }
            let request = Reconcile::new(key.namespace().unwrap_or_default(), key.name());
            nodes.wake.send(request).await;
        });
    }

    async fn run_hook(
        &self,
        key: &Key,
        known: &Known,
        i: usize,
        kind: HookKind,
    ) -> Result<(), String> {
        let plan = self.plan(key).ok_or("the pod is gone")?;
        let container = plan.containers.get(i).ok_or("container not found")?;
        let handler = container.hook(kind).ok_or("there is no hook")?;
        if let Some(exec) = &handler.exec {
            let inside = self.inside(key, known, i).await;
            let inside = inside.ok_or("container not found")?;
            return match inside.check(&exec.command).await {
                (0, _) => Ok(()),
                (_, printed) => Err(printed),
            };
        }
        if let Some(sleep) = &handler.sleep {
            let time = Duration::from_secs(sleep.seconds.unsigned_abs());
            tokio::time::sleep(time).await;
            return Ok(());
        }
        let action = handler.http_get.as_ref().ok_or("the hook has no action")?;
        let port = action.port(container).ok_or("couldn't find the port")?;
        let ip = known.state.lock().ip;
        let ip = ip.or_else(|| self.address_of(&plan.spec.node_name));
        let ip = ip.ok_or("the pod has no address")?.to_string();
        let host = match action.host.as_str() {
            "" => ip.as_str(),
            host => host,
        };
        let namespace = plan.namespace();
        let connection = self.network.connect(namespace, Some(&ip), host, port).await;
        let connection = connection.map_err(|e| e.to_string())?;
        // Any response will do.
        status(connection, action, host, port).await.map(drop)
    }
}

/// Returns the status code of the response to a probe.
async fn status(
    connection: DuplexStream,
    action: &PortAction,
    host: &str,
    port: u16,
) -> Result<u16, String> {
    let (path, authority) = (&action.path, format!("{host}:{port}"));
    if action.scheme != "HTTPS" {
        return get(connection, path, &authority).await;
    }
    let secure = connect_unverified(connection, host).await;
    get(secure.map_err(|e| e.to_string())?, path, &authority).await
}

/// Gets a path, and returns the status code of the answer.
async fn get(
    connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    path: &str,
    host: &str,
) -> Result<u16, String> {
    let path = if path.starts_with('/') { path } else { "/" };
    let request = Request::get(path)
        .header("host", host)
        .header("user-agent", "kube-probe/1.36")
        .body(Empty::<bytes::Bytes>::new())
        .map_err(|e| e.to_string())?;
    let (mut sender, driver) = http1::handshake(TokioIo::new(connection))
        .await
        .map_err(|e| e.to_string())?;
    let driver = tokio::spawn(driver);
    let answer = sender.send_request(request).await;
    driver.abort();
    answer
        .map(|answer| answer.status().as_u16())
        .map_err(|_| "EOF".to_owned())
}

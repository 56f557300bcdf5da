//! HTTP on the ports of containers.

use std::{
    convert::Infallible,
    net::Ipv4Addr,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// The body of a request to a container.
pub struct HttpBody(Incoming);

impl Body for HttpBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let frame = Pin::new(&mut self.0).poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map_err(std::io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

/// Serves one connection. Requests have the address of the client as an extension.
pub(super) async fn serve<S>(
    connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    from: Ipv4Addr,
    service: S,
) where
    S: tower::Service<Request<HttpBody>, Response = Response<Bytes>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let mut service = service.clone();
        let mut request = request.map(HttpBody);
        request.extensions_mut().insert(from);
        async move {
            // A service that is not ready yet is awaited here.
            match std::future::poll_fn(|cx| service.poll_ready(cx)).await {
                Ok(()) => {}
                Err(never) => match never {},
            }
            let answer = service.call(request).await;
            answer.map(|response| response.map(Full::new))
        }
    });
    let served = http1::Builder::new().serve_connection(TokioIo::new(connection), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection to a container ended");
    }
}

//! [`WebServer`]: well-known images that serve files on a port.
//!
//! Nothing runs for them: connections to the port of such a container are handled when they are opened.

use std::{convert::Infallible, net::Ipv4Addr, sync::Arc};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;

use crate::{
    agnhost,
    files::{FileError, absolute},
    image::{full_name, untagged},
    inside::Inside,
    pod::plan::ContainerPlan,
};

/// A server of the files below a directory of its container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WebServer {
    /// The name that it gives in responses.
    server: &'static str,
    root: &'static str,
    /// The file that the image comes with, and the text in it.
    page: Option<(&'static str, &'static str)>,
}

const NGINX: WebServer = WebServer {
    server: "nginx",
    root: "/usr/share/nginx/html",
    page: Some(("index.html", "Welcome to nginx!")),
};

const HTTPD: WebServer = WebServer {
    server: "Apache",
    root: "/usr/local/apache2/htdocs",
    page: Some(("index.html", "It works!")),
};

/// `test-webserver` of `agnhost`.
const TEST_WEB_SERVER: WebServer = WebServer {
    server: "agnhost",
    root: "/",
    page: None,
};

/// The images of the update demo of Kubernetes.
const NAUTILUS: WebServer = demo("{\"image\": \"nautilus.jpg\"}");
const KITTEN: WebServer = demo("{\"image\": \"kitten.jpg\"}");

const fn demo(data: &'static str) -> WebServer {
    WebServer {
        server: "nginx",
        root: "/",
        page: Some(("data.json", data)),
    }
}

impl WebServer {
    /// Returns the web server of a container and its port.
    pub(crate) fn of(container: &ContainerPlan) -> Option<(Self, u16)> {
        if let Some(port) = agnhost::test_web_server(container) {
            return Some((TEST_WEB_SERVER, port));
        }
        if !container.raw.command.is_empty() {
            return None;
        }
        Some((Self::of_image(&container.raw.image)?, 80))
    }

    /// Returns the web server that an image runs without a command.
    pub(crate) fn of_image(image: &str) -> Option<Self> {
        Some(match untagged(&full_name(image)) {
            "docker.io/library/nginx" => NGINX,
            "docker.io/library/httpd" | "registry.k8s.io/e2e-test-images/httpd" => HTTPD,
            "registry.k8s.io/e2e-test-images/nautilus" => NAUTILUS,
            "registry.k8s.io/e2e-test-images/kitten" => KITTEN,
            _ => return None,
        })
    }

    /// Returns the path and the text of the file that the image has besides those of every image.
    pub(crate) fn file(self) -> Option<(String, String)> {
        let (name, text) = self.page?;
        let text = match name.ends_with(".html") {
            true => page(text),
            false => text.to_owned(),
        };
        Some((format!("{}/{name}", self.root.trim_end_matches('/')), text))
    }

    /// Answers the requests of one connection. `log` gets a line for each.
    pub(crate) async fn serve(
        self,
        inside: Arc<Inside>,
        connection: DuplexStream,
        from: Ipv4Addr,
        log: impl Fn(String) + Clone + Send + 'static,
    ) {
        let service = service_fn(move |request: Request<Incoming>| {
            let mut answer = file(&inside, self.root, &request);
            let name = http::HeaderValue::from_static(self.server);
            answer.headers_mut().insert(header::SERVER, name);
            let now = (inside.world.clock)().strftime("%d/%b/%Y:%H:%M:%S +0000");
            let (method, path) = (request.method(), request.uri());
            let (code, size) = (answer.status().as_u16(), answer.body().size());
            log(format!(
                "{from} - - [{now}] \"{method} {path} HTTP/1.1\" {code} {size}"
            ));
            async move { Ok::<_, Infallible>(answer) }
        });
        let served = http1::Builder::new().serve_connection(TokioIo::new(connection), service);
        if let Err(error) = served.await {
            tracing::debug!(%error, "a connection to a simulated container ended");
        }
    }
}

fn page(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html>\n<head><title>{title}</title></head>\n<body><h1>{title}</h1></body>\n</html>\n"
    )
}

/// The size of a body that is in memory as a whole.
trait Size {
    fn size(&self) -> u64;
}

impl Size for Full<Bytes> {
    fn size(&self) -> u64 {
        http_body::Body::size_hint(self).exact().unwrap_or_default()
    }
}

/// Answers with a file below a directory.
fn file(inside: &Inside, root: &str, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return html(StatusCode::METHOD_NOT_ALLOWED, "405 Not Allowed");
    }
    let mut path = absolute("/", root);
    path.extend(absolute("/", request.uri().path()));
    let files = &inside.world.files;
    if files.entry(&path).is_ok_and(|entry| entry.is_directory()) {
        path.push("index.html".to_owned());
        if root == "/" && files.entry(&path).is_err() {
            path.pop();
            return listing(&files.list(&path).unwrap_or_default());
        }
    }
    match files.read(&path) {
        Ok(bytes) => {
            let kind = match path.last().and_then(|name| name.rsplit_once('.')) {
                Some((_, "html")) => "text/html",
                Some((_, "json")) => "application/json",
                Some((_, "css")) => "text/css",
                Some((_, "js")) => "text/javascript",
                _ => "text/plain",
            };
            typed(StatusCode::OK, kind, Bytes::from(bytes.to_vec()))
        }
        Err(FileError::NotFound | FileError::NotDirectory) => {
            html(StatusCode::NOT_FOUND, "404 Not Found")
        }
        Err(_) => html(StatusCode::FORBIDDEN, "403 Forbidden"),
    }
}

/// Answers with the names in a directory, as servers written in Go do.
fn listing(names: &[String]) -> Response<Full<Bytes>> {
    let links = names
        .iter()
        .map(|name| format!("<a href=\"{name}\">{name}</a>\n"));
    let text = format!("<pre>\n{}</pre>\n", links.collect::<String>());
    typed(StatusCode::OK, "text/html; charset=utf-8", text.into())
}

fn html(code: StatusCode, title: &str) -> Response<Full<Bytes>> {
    typed(code, "text/html", Bytes::from(page(title)))
}

fn typed(code: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = code;
    let kind = http::HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

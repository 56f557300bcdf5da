//! Requests over TLS that trust the authority of a kubeconfig and no other.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

use crate::{process::PATIENCE, server::Server};

/// Sends a GET, and returns the status code and the body of the response.
pub(crate) fn get(server: &Server, path: &str, token: Option<&str>) -> (u16, String) {
    let (code, _, body) = answer_of(open(server, path, "HTTP/1.0", token));
    (code, body)
}

/// Sends a POST of JSON, and returns the status code and the head of the response.
pub(crate) fn post(server: &Server, path: &str, token: &str, json: &str) -> (u16, String) {
    let mut stream = connect(server);
    write!(
        stream,
        "POST {path} HTTP/1.0\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{json}",
        server.address(),
        json.len()
    )
    .expect("a request");
    let (code, head, _) = answer_of(stream);
    (code, head)
}

/// Returns the status code, the head and the body of a response.
fn answer_of(mut stream: StreamOwned<ClientConnection, TcpStream>) -> (u16, String, String) {
    let mut answer = Vec::new();
    // A server may close the socket without a closing alert; what counts is what came before.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{answer}"));
    let code = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("{head}"));
    (code, head.to_owned(), body.to_owned())
}

/// Sends a GET, and returns the stream to read the response from.
pub(crate) fn open(
    server: &Server,
    path: &str,
    version: &str,
    token: Option<&str>,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut stream = connect(server);
    let authorization = token
        .map(|token| format!("Authorization: Bearer {token}\r\n"))
        .unwrap_or_default();
    write!(
        stream,
        "GET {path} {version}\r\nHost: {}\r\n{authorization}\r\n",
        server.address()
    )
    .expect("a request");
    stream
}

/// Connects to a server, which has to show a certificate of the authority in its kubeconfig.
fn connect(server: &Server) -> StreamOwned<ClientConnection, TcpStream> {
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let connection = ClientConnection::new(Arc::new(config(server)), name).expect("a client");
    let socket = TcpStream::connect(server.address()).expect("a connection");
    socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
    StreamOwned::new(connection, socket)
}

/// Returns settings that trust the authority in the kubeconfig of a server.
fn config(server: &Server) -> ClientConfig {
    let pem = BASE64_STANDARD
        .decode(server.kubeconfig_value("certificate-authority-data"))
        .expect("base64");
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(&pem).expect("a certificate"))
        .expect("an authority");
    ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// A server that may be gone at any time.
pub(crate) struct Peer {
    config: Arc<ClientConfig>,
    address: String,
    token: String,
}

impl Peer {
    pub(crate) fn of(server: &Server) -> Self {
        Self {
            config: Arc::new(config(server)),
            address: server.address().to_owned(),
            token: server.kubeconfig_value("token"),
        }
    }

    /// Sends a POST of JSON, and returns the status code and the body of the response, if there is one.
    pub(crate) fn post(&self, path: &str, json: &str) -> Option<(u16, String)> {
        self.send("POST", path, "application/json", json)
    }

    /// Sends a request, and returns the status code and the body of the response, if there is one.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &str,
    ) -> Option<(u16, String)> {
        let name = ServerName::try_from("127.0.0.1").ok()?;
        let connection = ClientConnection::new(Arc::clone(&self.config), name).ok()?;
        let socket = TcpStream::connect(&self.address).ok()?;
        socket.set_read_timeout(Some(PATIENCE)).ok()?;
        let mut stream = StreamOwned::new(connection, socket);
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: {content_type}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        )
        .ok()?;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let code = head.split(' ').nth(1)?.parse().ok()?;
        Some((code, body.to_owned()))
    }
}

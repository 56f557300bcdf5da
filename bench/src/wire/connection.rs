//! A TLS connection with its own buffers.
//!
//! rustls' buffered reader takes four kilobytes from the socket at a time, which costs more than everything else for a
//! response of fifty megabytes. This uses its unbuffered interface and reads as much as there is.

use std::io;

use rustls::{
    client::UnbufferedClientConnection,
    unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{Answer, Protocol, http2};
use crate::endpoint::Endpoint;

/// The initial size of the ciphertext buffer, which holds a record and most responses.
const SMALL: usize = 18 << 10;
/// The size of the ciphertext buffer for long responses.
const LARGE: usize = 256 << 10;

/// A connection to a server.
pub(crate) struct Connection {
    tcp: TcpStream,
    tls: UnbufferedClientConnection,
    incoming: Vec<u8>,
    /// The range of ciphertext that has not been decrypted.
    pending: std::ops::Range<usize>,
    outgoing: Vec<u8>,
    closed: bool,
    shaken: bool,
    /// The state of HTTP/2; `None` on a connection that speaks HTTP/1.1.
    http2: Option<Http2>,
}

struct Http2 {
    frames: http2::Frames,
    /// The number of the next stream.
    stream: u32,
    /// The request with the number of its stream.
    request: Vec<u8>,
}

impl Connection {
    /// Connects by HTTP/1.1 and completes the handshake.
    pub(crate) async fn open(endpoint: &Endpoint) -> io::Result<Self> {
        Self::open_with(endpoint, Protocol::Http1).await
    }

    /// Connects by the given protocol and completes the handshake.
    pub(crate) async fn open_with(endpoint: &Endpoint, protocol: Protocol) -> io::Result<Self> {
        let tcp = TcpStream::connect(&endpoint.address).await?;
        tcp.set_nodelay(true)?;
        let tls = endpoint.tls(protocol).clone();
        let tls = UnbufferedClientConnection::new(tls, endpoint.name.clone())
            .map_err(io::Error::other)?;
        let mut connection = Self {
            tcp,
            tls,
            incoming: vec![0; SMALL],
            pending: 0..0,
            outgoing: Vec::new(),
            closed: false,
            shaken: false,
            http2: None,
        };
        loop {
            connection.process(&mut |_| {})?;
            connection.flush().await?;
            if connection.shaken {
                break;
            }
            connection.fill().await?;
        }
        if protocol == Protocol::Http2 {
            connection.begin_http2().await?;
        }
        Ok(connection)
    }

    /// Exchanges the settings of HTTP/2.
    async fn begin_http2(&mut self) -> io::Result<()> {
        if self.tls.alpn_protocol() != Some(b"h2") {
            return Err(io::Error::other("the server does not speak HTTP/2"));
        }
        self.encrypt(http2::PREFACE).await?;
        self.http2 = Some(Http2 {
            frames: http2::Frames::default(),
            stream: 1,
            request: Vec::new(),
        });
        let mut none = Answer::new();
        while self
            .http2
            .as_ref()
            .is_some_and(|http2| !http2.frames.settled)
        {
            self.receive(&mut none, &mut |_| {}).await?;
        }
        self.encrypt(http2::ACKNOWLEDGE).await
    }

    /// Sends a request and reads its response, whose body is passed on as it arrives.
    pub(crate) async fn exchange(
        &mut self,
        request: &[u8],
        answer: &mut Answer,
        mut body: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        self.send(request).await?;
        answer.reset();
        while !answer.is_done() {
            self.receive(answer, &mut body).await?;
        }
        Ok(())
    }

    /// Sends a request.
    pub(crate) async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        let Some(http2) = &mut self.http2 else {
            return self.encrypt(request).await;
        };
        let mut frames = std::mem::take(&mut http2.request);
        frames.clear();
        frames.extend_from_slice(request);
        http2::number(&mut frames, http2.stream);
        http2.stream += 2;
        let sent = self.encrypt(&frames).await;
        if let Some(http2) = &mut self.http2 {
            http2.request = frames;
        }
        sent
    }

    /// Encrypts and sends bytes.
    async fn encrypt(&mut self, request: &[u8]) -> io::Result<()> {
        let UnbufferedStatus { discard, state } = self
            .tls
            .process_tls_records(&mut self.incoming[self.pending.clone()]);
        let outcome = match state.map_err(io::Error::other)? {
            ConnectionState::WriteTraffic(mut traffic) => loop {
                self.outgoing.resize(self.outgoing.capacity(), 0);
                match traffic.encrypt(request, &mut self.outgoing) {
                    Ok(written) => {
                        self.outgoing.truncate(written);
                        break Ok(());
                    }
                    Err(EncryptError::InsufficientSize(size)) => {
                        self.outgoing.clear();
                        self.outgoing.reserve(size.required_size);
                    }
                    Err(error) => break Err(io::Error::other(error)),
                }
            },
            state => Err(io::Error::other(format!("cannot send now: {state:?}"))),
        };
        self.pending.start += discard;
        outcome?;
        self.flush().await
    }

    /// Waits for bytes and passes them to the response.
    pub(crate) async fn receive(
        &mut self,
        answer: &mut Answer,
        body: &mut impl FnMut(&[u8]),
    ) -> io::Result<()> {
        self.fill().await?;
        let mut outcome = Ok(());
        let mut http2 = self.http2.take();
        let processed = self.process(&mut |plain| {
            if outcome.is_ok() {
                outcome = match &mut http2 {
                    Some(http2) => http2.frames.feed(plain, answer, body),
                    None => answer.feed(plain, body),
                };
            }
        });
        self.http2 = http2;
        processed?;
        outcome?;
        if self.closed && !answer.is_done() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.flush().await
    }

    /// Reads as much ciphertext as there is and fits.
    async fn fill(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            self.pending = 0..0;
        }
        if self.pending.end == self.incoming.len() {
            self.incoming.copy_within(self.pending.clone(), 0);
            self.pending = 0..self.pending.len();
            if self.incoming.len() < LARGE {
                self.incoming.resize(LARGE, 0);
            }
        }
        // `read` remembers that a short read emptied the socket, which saves a call that would find nothing.
        let read = self
            .tcp
            .read(&mut self.incoming[self.pending.end..])
            .await?;
        self.pending.end += read;
        if read == 0 {
            Err(io::ErrorKind::UnexpectedEof.into())
        } else {
            Ok(())
        }
    }

    /// Writes pending bytes.
    async fn flush(&mut self) -> io::Result<()> {
        if !self.outgoing.is_empty() {
            self.tcp.write_all(&self.outgoing).await?;
        }
        self.outgoing.clear();
        Ok(())
    }

    /// Decrypts the received bytes, and prepares TLS messages to send.
    fn process(&mut self, plain: &mut impl FnMut(&[u8])) -> io::Result<()> {
        loop {
            let UnbufferedStatus { mut discard, state } = self
                .tls
                .process_tls_records(&mut self.incoming[self.pending.clone()]);
            let mut more = true;
            match state.map_err(io::Error::other)? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(io::Error::other)?;
                        discard += record.discard;
                        plain(record.payload);
                    }
                }
                ConnectionState::EncodeTlsData(mut data) => {
                    let end = self.outgoing.len();
                    loop {
                        match data.encode(&mut self.outgoing[end..]) {
                            Ok(written) => {
                                self.outgoing.truncate(end + written);
                                break;
                            }
                            Err(EncodeError::InsufficientSize(size)) => {
                                self.outgoing.resize(end + size.required_size, 0);
                            }
                            Err(error) => return Err(io::Error::other(error)),
                        }
                    }
                }
                // The caller flushes.
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::BlockedHandshake => more = false,
                ConnectionState::WriteTraffic(_) => {
                    self.shaken = true;
                    more = false;
                }
                ConnectionState::PeerClosed => self.closed = true,
                _ => more = false,
            }
            self.pending.start += discard;
            if !more {
                return Ok(());
            }
        }
    }
}

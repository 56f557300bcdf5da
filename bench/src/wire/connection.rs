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

use super::Answer;
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
}

impl Connection {
    /// Connects and completes the handshake.
    pub(crate) async fn open(endpoint: &Endpoint) -> io::Result<Self> {
        let tcp = TcpStream::connect(&endpoint.address).await?;
        tcp.set_nodelay(true)?;
        let tls = UnbufferedClientConnection::new(endpoint.tls.clone(), endpoint.name.clone())
            .map_err(io::Error::other)?;
        let mut connection = Self {
            tcp,
            tls,
            incoming: vec![0; SMALL],
            pending: 0..0,
            outgoing: Vec::new(),
            closed: false,
            shaken: false,
        };
        loop {
            connection.process(&mut |_| {})?;
            connection.flush().await?;
            if connection.shaken {
                return Ok(connection);
            }
            connection.fill().await?;
        }
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
        self.process(&mut |plain| {
            if outcome.is_ok() {
                outcome = answer.feed(plain, body);
            }
        })?;
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

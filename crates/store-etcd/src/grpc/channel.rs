//! [`Channel`]: calls to any available member.

use std::{sync::Arc, time::Duration};

use http::HeaderValue;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};

use super::{
    connection::{Connection, Stream},
    endpoint::Endpoint,
    error::CallError,
};
use crate::api::{Message, Token, authenticate_request};

/// The time limit of one attempt of a call. etcd itself gives up a proposal after about 7 s.
const ATTEMPT: Duration = Duration::from_secs(5);
/// The pause before the first retry of a call. It doubles with each retry.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause between retries.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A user of etcd and its password.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub(crate) username: String,
    pub(crate) password: String,
}

/// A connection to one of several members, which is replaced if it breaks.
pub(crate) struct Channel {
    endpoints: Arc<[Endpoint]>,
    credentials: Option<Credentials>,
    live: Mutex<Live>,
}

#[derive(Default)]
struct Live {
    connection: Option<Connected>,
    /// The member to try first.
    next: usize,
    number: u64,
}

/// An authenticated connection.
#[derive(Clone)]
struct Connected {
    connection: Connection,
    token: Option<HeaderValue>,
    number: u64,
}

impl Channel {
    pub(crate) fn new(endpoints: Arc<[Endpoint]>, credentials: Option<Credentials>) -> Self {
        Self {
            endpoints,
            credentials,
            live: Mutex::default(),
        }
    }

    /// Returns another channel to the same members, with its own connection.
    pub(crate) fn another(&self) -> Self {
        Self::new(Arc::clone(&self.endpoints), self.credentials.clone())
    }

    /// Calls a read-only method, with retries at other members.
    pub(crate) async fn read<M: Message>(
        &self,
        method: &str,
        message: &[u8],
        within: Duration,
    ) -> Result<M, CallError> {
        let deadline = Instant::now() + within;
        let mut pause = FIRST_PAUSE;
        loop {
            match self.once(method, message, deadline).await {
                Err(error) if error.is_transient() && Instant::now() + pause < deadline => {
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                answer => return answer,
            }
        }
    }

    /// Calls a method once. Unless the error is ambiguous, nothing was changed. Renews an expired login.
    pub(crate) async fn once<M: Message>(
        &self,
        method: &str,
        message: &[u8],
        deadline: Instant,
    ) -> Result<M, CallError> {
        let deadline = deadline.min(Instant::now() + ATTEMPT);
        let mut is_second = false;
        loop {
            let live = self.connected().await?;
            let token = live.token.as_ref();
            let called = live.connection.call(method, message, token, deadline);
            match called.await {
                Err(error) if error.is_login_over() && !is_second => {
                    self.forget(live.number, Member::Same).await;
                    is_second = true;
                }
                Err(error) if error.is_transient() => {
                    self.forget(live.number, Member::Next).await;
                    return Err(error);
                }
                answer => return answer,
            }
        }
    }

    /// Opens a stream. The channel stays at the member until [`move_on`](Self::move_on) is called.
    pub(crate) async fn stream(&self, method: &str, message: &[u8]) -> Result<Stream, CallError> {
        let live = self.connected().await?;
        let token = live.token.as_ref();
        let stream = live.connection.stream(method, message, token).await;
        if let Err(error) = &stream {
            let member = match error.is_login_over() {
                true => Member::Same,
                false => Member::Next,
            };
            self.forget(live.number, member).await;
        }
        stream
    }

    /// Switches to another member.
    pub(crate) async fn move_on(&self) {
        let mut live = self.live.lock().await;
        live.connection = None;
        live.next += 1;
    }

    async fn connected(&self) -> Result<Connected, CallError> {
        let mut live = self.live.lock().await;
        if let Some(connected) = &live.connection
            && !connected.connection.is_closed()
        {
            return Ok(connected.clone());
        }
        live.connection = None;
        let mut errors = Vec::new();
        for _ in 0..self.endpoints.len() {
            let index = live.next % self.endpoints.len();
            match self.connect(&self.endpoints[index]).await {
                Ok((connection, token)) => {
                    live.number += 1;
                    let connected = Connected {
                        connection,
                        token,
                        number: live.number,
                    };
                    live.connection = Some(connected.clone());
                    return Ok(connected);
                }
                // Another member would respond in the same way.
                Err(error) if !error.is_transient() => return Err(error),
                Err(error) => errors.push(error.message),
            }
            live.next += 1;
        }
        Err(CallError::unsent(errors.join("; ")))
    }

    async fn connect(
        &self,
        endpoint: &Endpoint,
    ) -> Result<(Connection, Option<HeaderValue>), CallError> {
        let connection = Connection::open(endpoint).await?;
        let Some(credentials) = &self.credentials else {
            return Ok((connection, None));
        };
        let request = authenticate_request(&credentials.username, &credentials.password);
        let deadline = Instant::now() + ATTEMPT;
        let token: Token = connection
            .call("/etcdserverpb.Auth/Authenticate", &request, None, deadline)
            .await?;
        let mut token = HeaderValue::try_from(token.0).map_err(CallError::unsent)?;
        token.set_sensitive(true);
        Ok((connection, Some(token)))
    }

    /// Drops a connection, unless it has been replaced already.
    async fn forget(&self, number: u64, member: Member) {
        let mut live = self.live.lock().await;
        if live.number == number && live.connection.take().is_some() && member == Member::Next {
            live.next += 1;
        }
    }
}

/// The member to connect to next.
#[derive(PartialEq, Eq)]
enum Member {
    Same,
    Next,
}

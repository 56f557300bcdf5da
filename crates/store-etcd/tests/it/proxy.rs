//! A TCP proxy that cuts, delays or drops traffic.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
    sync::watch,
    task::JoinSet,
    time::sleep,
};

/// A fault of all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    /// Connections are closed, and new ones too.
    Cut,
    /// Connections stay open, but nothing is forwarded.
    BlackHole,
    /// Requests are forwarded, but responses are not.
    NoAnswers,
    /// Everything takes longer.
    Delay(Duration),
}

/// A proxy in front of a member.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    fault: watch::Sender<Fault>,
    target: watch::Sender<SocketAddr>,
    _accepting: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let fault = watch::Sender::new(Fault::None);
        let faults = Arc::new(fault.subscribe());
        let target = watch::Sender::new(target);
        let targets = target.subscribe();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let target = *targets.borrow();
                connections.spawn(connection(client, target, (*faults).clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Self {
            address,
            fault,
            target,
            _accepting: accepting,
        }
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    /// Forwards new connections to another address.
    pub(crate) fn lead_to(&self, target: SocketAddr) {
        self.target.send_replace(target);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn connection(client: TcpStream, target: SocketAddr, mut faults: watch::Receiver<Fault>) {
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let requests = pass(from_client, to_server, faults.clone(), false);
    let answers = pass(from_server, to_client, faults.clone(), true);
    // Dropping both halves closes the connections.
    tokio::select! {
        () = async { tokio::join!(requests, answers); } => {}
        _ = faults.wait_for(|fault| *fault == Fault::Cut) => {}
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut faults: watch::Receiver<Fault>,
    is_answer: bool,
) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let fault = *faults.borrow_and_update();
        let is_swallowed = fault == Fault::BlackHole || fault == Fault::NoAnswers && is_answer;
        if let Fault::Delay(time) = fault {
            sleep(time).await;
        }
        if is_swallowed {
            // Delayed rather than dropped, since TCP would retransmit it.
            let open = |fault: &Fault| matches!(fault, Fault::None | Fault::Delay(_));
            if faults.wait_for(open).await.is_err() {
                return;
            }
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

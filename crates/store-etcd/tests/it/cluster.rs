//! A cluster of three members whose connections, to each other and to clients, go through proxies.

use std::{net::SocketAddr, time::Duration};

use kubewright_store_etcd::Options;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{
    etcd::{Etcd, free_address, prefix, program},
    proxy::Proxy,
};

/// Three members and their proxies.
pub(crate) struct Cluster {
    pub(crate) members: Vec<Etcd>,
    /// The proxies in front of each member for the other members.
    pub(crate) peers: Vec<Proxy>,
    /// The proxies in front of each member for clients.
    pub(crate) clients: Vec<Proxy>,
    prefix: String,
}

/// A member and its proxies.
struct Place {
    client: SocketAddr,
    listen: SocketAddr,
    peer_proxy: Proxy,
    client_proxy: Proxy,
}

impl Cluster {
    /// Starts a cluster. Returns `None` if the test is skipped.
    pub(crate) async fn start(test: &str) -> Option<Self> {
        program(test)?;
        let mut places = Vec::new();
        for _ in 0..3 {
            places.push(Place::new().await);
        }
        let named = places.iter().enumerate();
        let all: Vec<String> = named
            .map(|(n, place)| format!("m{n}={}", place.peer_proxy.url()))
            .collect();
        let all = all.join(",");
        let mut cluster = Self {
            members: Vec::new(),
            peers: Vec::new(),
            clients: Vec::new(),
            prefix: prefix(),
        };
        for (n, place) in places.into_iter().enumerate() {
            let mut member = place.member(&format!("m{n}"), &all, "new");
            member.spawn();
            cluster.members.push(member);
            cluster.peers.push(place.peer_proxy);
            cluster.clients.push(place.client_proxy);
        }
        for member in &cluster.members {
            member.listening().await;
        }
        Some(cluster)
    }

    /// Returns the options of a server that tries a given member first.
    pub(crate) fn options(&self, first: usize) -> Options {
        let mut urls: Vec<String> = self.clients.iter().map(Proxy::url).collect();
        urls.rotate_left(first);
        Options {
            prefix: self.prefix.clone(),
            compaction_interval: None,
            ..Options::new(urls)
        }
    }

    /// Replaces a lost member by a new one without data, through another member.
    pub(crate) async fn replace(&mut self, gone: usize, other: usize, name: &str) {
        self.members[gone].kill();
        let url = self.peers[gone].url();
        let asked = &self.members[other];
        let listed = change(asked, "cluster/member/list", "{}").await;
        let members = listed["members"].as_array().expect("members").clone();
        let is_gone = |member: &&Value| member["peerURLs"][0] == url.as_str();
        let id = members.iter().find(is_gone).expect("the member")["ID"].clone();
        let removed = format!("{{\"ID\": {id}}}");
        change(asked, "cluster/member/remove", &removed).await;
        let place = Place::new().await;
        let added = format!("{{\"peerURLs\": [\"{}\"]}}", place.peer_proxy.url());
        change(asked, "cluster/member/add", &added).await;
        let mut all = vec![format!("{name}={}", place.peer_proxy.url())];
        for member in members.iter().filter(|member| !is_gone(member)) {
            let name = member["name"].as_str().unwrap_or_default();
            let url = member["peerURLs"][0].as_str().unwrap_or_default();
            all.push(format!("{name}={url}"));
        }
        let mut member = place.member(name, &all.join(","), "existing");
        member.restart().await;
        self.members[gone] = member;
        self.peers[gone] = place.peer_proxy;
        // Clients reach the new member at the address of the old one.
        self.clients[gone].lead_to(self.members[gone].client);
    }
}

/// Lists or changes the members, once they have been connected for long enough.
async fn change(asked: &Etcd, path: &str, body: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = asked.gateway(path, body).await;
        let message = answer["message"].as_str().unwrap_or_default();
        // The outcome of an earlier attempt.
        let is_done = message.contains("not found") || message.contains("already exist");
        if answer["code"].is_null() || is_done {
            return answer;
        }
        assert!(Instant::now() < deadline, "{answer}");
        sleep(Duration::from_millis(100)).await;
    }
}

impl Place {
    async fn new() -> Self {
        let (client, listen) = (free_address(), free_address());
        Self {
            client,
            listen,
            peer_proxy: Proxy::start(listen).await,
            client_proxy: Proxy::start(client).await,
        }
    }

    fn member(&self, name: &str, all: &str, state: &str) -> Etcd {
        let args = [
            format!("--name={name}"),
            format!("--listen-client-urls=http://{}", self.client),
            format!("--advertise-client-urls={}", self.client_proxy.url()),
            format!("--listen-peer-urls=http://{}", self.listen),
            format!("--initial-advertise-peer-urls={}", self.peer_proxy.url()),
            format!("--initial-cluster={all}"),
            format!("--initial-cluster-state={state}"),
            "--heartbeat-interval=50".to_owned(),
            "--election-timeout=500".to_owned(),
        ];
        Etcd::with(self.client, args.into())
    }
}

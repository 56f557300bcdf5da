//! `dig`, `getent` and `nslookup`: names of hosts.

use super::Call;
use crate::{
    files::absolute,
    network::{Data, Record, RecordType},
};

/// The time to live of every record, in seconds.
const TTL: u32 = 30;

impl Call<'_> {
    pub(super) async fn names(&mut self) -> i32 {
        match self.name {
            "dig" => self.dig().await,
            "getent" => self.getent().await,
            _ => self.nslookup().await,
        }
    }

    async fn dig(&mut self) -> i32 {
        let (mut name, mut wanted) = (None, RecordType::Address);
        let (mut is_short, mut searches) = (false, false);
        let mut words = self.rest.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "+short" => is_short = true,
                "+search" => searches = true,
                "-t" | "-q" => {}
                "-x" => {
                    wanted = RecordType::Pointer;
                    name = words.next().map(reversed);
                }
                "A" | "a" => wanted = RecordType::Address,
                "CNAME" | "cname" => wanted = RecordType::Alias,
                "PTR" | "ptr" => wanted = RecordType::Pointer,
                "SRV" | "srv" => wanted = RecordType::Service,
                // There is one server, and other options do not change the answer.
                word if word.starts_with(['+', '@', '-']) => {}
                word => name = Some(word.to_owned()),
            }
        }
        let Some(name) = name else {
            return self.fail(1, "no name to look up").await;
        };
        let world = &self.shell.world;
        let records = match searches {
            true => world.network.search(&world.namespace, &name, wanted).await,
            false => world.network.look_up(&name, wanted).await,
        };
        let lines = records.iter().map(|record| {
            let data = text(&record.data);
            match is_short {
                true => format!("{data}\n"),
                false => {
                    let kind = record.data.type_name();
                    format!("{}\t{TTL}\tIN\t{kind}\t{data}\n", record.name)
                }
            }
        });
        let lines: String = lines.collect();
        self.print(lines).await
    }

    /// Returns the address and the names of a host that `/etc/hosts` lists. `wanted` is one of them.
    pub(super) fn known_host(&self, wanted: &str) -> Option<(String, Vec<String>)> {
        let hosts = self.shell.world.files.read(&absolute("/", "/etc/hosts"));
        let hosts = hosts.ok()?;
        String::from_utf8_lossy(&hosts).lines().find_map(|line| {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace().map(str::to_owned);
            let address = words.next()?;
            let names: Vec<String> = words.collect();
            let is_wanted = address == wanted || names.iter().any(|name| name == wanted);
            is_wanted.then_some((address, names))
        })
    }

    /// Looks names up in `/etc/hosts` first, and in DNS next.
    async fn getent(&mut self) -> i32 {
        let (Some("hosts" | "ahosts" | "ahostsv4"), Some(name)) =
            (self.rest.first().map(String::as_str), self.rest.get(1))
        else {
            return self.fail(1, "only `getent hosts NAME` is supported").await;
        };
        if let Some((address, names)) = self.known_host(name) {
            let names = names.join(" ");
            return self.print(format!("{address:<15} {names}\n")).await;
        }
        let records = self.addresses(name).await;
        let mut lines = records.iter().filter_map(|record| match &record.data {
            Data::Address(address) => {
                let host = record.name.trim_end_matches('.');
                Some(format!("{:<15} {host}\n", address.to_string()))
            }
            _ => None,
        });
        match lines.next() {
            Some(first) => {
                let lines = first + &lines.collect::<String>();
                self.print(lines).await
            }
            // The exit code for a name that is not found.
            None => 2,
        }
    }

    async fn nslookup(&mut self) -> i32 {
        let mut words = self.rest.iter().filter(|word| !word.starts_with('-'));
        let Some(name) = words.next() else {
            return self.fail(1, "no name to look up").await;
        };
        let records = self.addresses(name).await;
        let mut out = "Server:\t\t10.96.0.10\nAddress:\t10.96.0.10:53\n\n".to_owned();
        for Record { name, data } in &records {
            let name = name.trim_end_matches('.');
            let data_text = text(data);
            let line = match data {
                Data::Address(_) => format!("Name:\t{name}\nAddress: {data_text}\n"),
                Data::Alias(_) => format!("{name}\tcanonical name = {data_text}\n"),
                _ => format!("{name}\tname = {data_text}\n"),
            };
            out.push_str(&line);
        }
        if records.is_empty() {
            out.push_str(&format!("** server can't find {name}: NXDOMAIN\n"));
        }
        match self.print(out).await {
            0 if records.is_empty() => 1,
            code => code,
        }
    }

    async fn addresses(&self, name: &str) -> Vec<Record> {
        let world = &self.shell.world;
        let (name, wanted) = match name.parse::<std::net::Ipv4Addr>() {
            Ok(_) => (reversed(name), RecordType::Pointer),
            Err(_) => (name.to_owned(), RecordType::Address),
        };
        world.network.search(&world.namespace, &name, wanted).await
    }
}

/// Returns the name whose pointer is the name of an address.
fn reversed(address: &str) -> String {
    let parts: Vec<&str> = address.rsplit('.').collect();
    format!("{}.in-addr.arpa.", parts.join("."))
}

fn text(data: &Data) -> String {
    match data {
        Data::Address(address) => address.to_string(),
        Data::Alias(name) | Data::Pointer(name) => name.clone(),
        Data::Service { port, target } => format!("0 100 {port} {target}"),
    }
}

//! `agnhost`: the subcommands that Kubernetes' tests execute in running containers.

use std::io;

use super::Call;
use crate::{
    agnhost::{Flags, PATIENCE, log_line, pace, within},
    files::absolute,
};

impl Call<'_> {
    pub(super) async fn agnhost(&mut self) -> i32 {
        let words: Vec<&str> = self.rest.iter().map(String::as_str).collect();
        match words[..] {
            ["dns-suffix"] => self.resolver("search").await,
            ["dns-server-list"] => self.resolver("nameserver").await,
            ["etc-hosts"] => self.show("/etc/hosts").await,
            ["pause", ..] => {
                self.print("Paused\n").await;
                std::future::pending().await
            }
            ["logs-generator", ..] => self.generate_logs().await,
            ["connect", ref rest @ ..] => self.try_to_connect(rest).await,
            [] | ["help" | "--help", ..] => 0,
            [other, ..] => {
                let text = format!("unknown command {other:?} for \"app\"");
                self.fail(1, &text).await
            }
        }
    }

    async fn generate_logs(&self) -> i32 {
        let Some((total, pause)) = pace(&Flags::parse(&self.rest[1..])) else {
            return self
                .fail(1, "Invalid total number of lines or duration")
                .await;
        };
        for number in 0..total {
            let code = self.print(log_line(self.now(), number) + "\n").await;
            if code != 0 {
                return code;
            }
            tokio::time::sleep(pause).await;
        }
        0
    }

    /// Prints the values of a keyword of the resolver's configuration, separated by commas.
    async fn resolver(&self, keyword: &str) -> i32 {
        let path = absolute("/", "/etc/resolv.conf");
        let bytes = match self.shell.world.files.read(&path) {
            Ok(bytes) => bytes,
            Err(error) => return self.fail(1, &error.to_string()).await,
        };
        let text = String::from_utf8_lossy(&bytes);
        let values = text.lines().filter_map(|line| line.strip_prefix(keyword));
        let values: Vec<&str> = values.flat_map(str::split_whitespace).collect();
        self.print(values.join(",")).await
    }

    async fn show(&self, path: &str) -> i32 {
        match self.shell.world.files.read(&absolute("/", path)) {
            Ok(bytes) => self.print(&*bytes).await,
            Err(error) => self.fail(1, &error.to_string()).await,
        }
    }

    /// Connects to `HOST:PORT`, and prints a known word if that fails.
    async fn try_to_connect(&self, words: &[&str]) -> i32 {
        let target = words.iter().find(|word| !word.starts_with('-'));
        let target = target.and_then(|target| target.rsplit_once(':'));
        let target = target.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
        let Some((host, port)) = target else {
            return self.fail(1, "missing port in address").await;
        };
        let limit = words
            .iter()
            .find_map(|word| word.strip_prefix("--timeout="))
            .and_then(crate::image::duration)
            .map_or(PATIENCE, |limit| limit.min(PATIENCE));
        let world = &self.shell.world;
        let own = world.ip.as_deref();
        let connecting = async {
            let connection = world.network.connect(&world.namespace, own, host, port);
            connection.await.map_err(io::Error::from)
        };
        let Err(word) = within(limit, connecting).await else {
            return 0;
        };
        match self.io.stderr.write(format!("{word}\n").as_bytes()).await {
            Ok(()) | Err(_) => 1,
        }
    }
}

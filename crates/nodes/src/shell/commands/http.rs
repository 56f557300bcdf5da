//! `wget`, `curl` and `nc`: requests through the network of the pods.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use kubewright_serve::connect_unverified;
use kubewright_streams::PodConnection;

use super::{Call, split};

/// The largest response, in bytes.
const MOST_BYTES: usize = 32 << 20;

/// The largest datagram, in bytes.
const MOST_DATAGRAM: usize = 65_507;

/// The timeout of a request.
const PATIENCE: Duration = Duration::from_secs(120);

impl Call<'_> {
    pub(super) async fn http(&mut self) -> i32 {
        if self.name == "nc" {
            return self.connect().await;
        }
        let (options, words) = match self.name {
            "wget" => self.options("OTtUY"),
            _ => split(&short_options(self.rest), "XHdomwAu"),
        };
        let value = |wanted: char| {
            let found = options.iter().find(|(letter, _)| *letter == wanted);
            found.map(|(_, value)| value.as_str())
        };
        let Some(url) = words.first() else {
            return self.fail(1, "no URL specified").await;
        };
        let patience = value('T').or(value('m')).and_then(|text| text.parse().ok());
        let patience = patience.map_or(PATIENCE, Duration::from_secs).min(PATIENCE);
        let long = |name: &str| {
            let mut long = options.iter().filter(|(letter, _)| *letter == '-');
            long.find_map(|(_, word)| word.strip_prefix("--")?.strip_prefix(name))
        };
        let data = value('d').or(long("post-data="));
        let method = match (value('X'), data) {
            (Some(method), _) => method,
            (None, Some(_)) => "POST",
            (None, None) => "GET",
        };
        let body = data.unwrap_or_default().to_owned();
        let checks = value('k').is_none()
            && long("insecure").is_none()
            && long("no-check-certificate").is_none();
        let headers = options
            .iter()
            .filter(|(letter, _)| *letter == 'H')
            .map(|(_, value)| value.as_str());
        let headers: Vec<(&str, &str)> = headers
            .filter_map(|header| header.split_once(':'))
            .collect();
        let asked = self.exchange((method, url, checks), &headers, body);
        let answer = match tokio::time::timeout(patience, asked).await {
            Ok(answer) => answer,
            Err(_) => Err((28, "download timed out".to_owned())),
        };
        let (status, body) = match answer {
            Ok(answer) => answer,
            Err((code, error)) => {
                let code = if self.name == "wget" { 1 } else { code };
                let text = match self.name {
                    "wget" => error,
                    _ => format!("({code}) {error}"),
                };
                return self.fail(code, &text).await;
            }
        };
        let fails = self.name == "wget" || options.iter().any(|(letter, _)| *letter == 'f');
        if fails && status >= 400 {
            return match self.name {
                "wget" => {
                    self.fail(1, &format!("server returned error: HTTP/1.1 {status}"))
                        .await
                }
                _ => {
                    self.fail(
                        22,
                        &format!("(22) The requested URL returned error: {status}"),
                    )
                    .await
                }
            };
        }
        let default = url
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or("index.html");
        let file = match self.name {
            "wget" => Some(value('O').unwrap_or(default)),
            _ => value('o'),
        };
        let code = match file.filter(|name| *name != "-") {
            None => self.print(&body).await,
            Some("/dev/null") => 0,
            Some(name) => {
                match self
                    .shell
                    .world
                    .files
                    .write(&self.path(name), &body, false, self.now())
                {
                    Ok(()) => 0,
                    Err(error) => self.fail(1, &format!("{name}: {error}")).await,
                }
            }
        };
        match value('w') {
            Some(format) => {
                let text = format
                    .replace("%{http_code}", &status.to_string())
                    .replace("\\n", "\n");
                self.print(text).await.max(code)
            }
            None => code,
        }
    }

    async fn exchange(
        &self,
        (method, url, checks): (&str, &str, bool),
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<(u16, Bytes), (i32, String)> {
        let (is_secure, rest) = match url.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, url.strip_prefix("http://").unwrap_or(url)),
        };
        if is_secure && checks {
            let error = "certificates cannot be verified in simulated containers";
            return Err((60, error.to_owned()));
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let path = match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("/{path}"),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (
                host,
                port.parse()
                    .map_err(|_| (3, format!("bad port '{port}'")))?,
            ),
            None => (authority, if is_secure { 443 } else { 80 }),
        };
        let world = &self.shell.world;
        let connection = world
            .network
            .connect(&world.namespace, world.ip.as_deref(), host, port)
            .await;
        let connection = connection.map_err(|error| match error {
            crate::network::DialError::UnknownHost => (6, format!("bad address '{authority}'")),
            error => (7, format!("can't connect to remote host ({host}): {error}")),
        })?;
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", authority);
        for (name, value) in headers {
            request = request.header(name.trim(), value.trim());
        }
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("user-agent"))
        {
            let agent = if self.name == "wget" {
                "Wget"
            } else {
                "curl/8.0.0"
            };
            request = request.header("user-agent", agent);
        }
        let broken = |error: String| (52, error);
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|e| broken(e.to_string()))?;
        let connection: PodConnection = match is_secure {
            true => {
                let secure = connect_unverified(connection, host).await;
                Box::pin(secure.map_err(|e| (35, e.to_string()))?)
            }
            false => Box::pin(connection),
        };
        let (mut sender, driver) = http1::handshake(TokioIo::new(connection))
            .await
            .map_err(|e| broken(e.to_string()))?;
        let driver = tokio::spawn(driver);
        let answer = sender.send_request(request).await;
        let answer = answer.map_err(|_| broken("error getting response".to_owned()))?;
        let status = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), MOST_BYTES).collect().await;
        driver.abort();
        let body = body.map_err(|_| broken("short read".to_owned()))?;
        Ok((status, body.to_bytes()))
    }

    /// Connects standard input and output to a port.
    async fn connect(&mut self) -> i32 {
        let (options, words) = self.options("w");
        let has = |wanted: char| options.iter().any(|(letter, _)| *letter == wanted);
        let [host, port] = &words[..] else {
            return self.fail(1, "usage: nc HOST PORT").await;
        };
        let Ok(port) = port.parse() else {
            return self.fail(1, &format!("bad port '{port}'")).await;
        };
        if has('u') {
            let wait = options.iter().find(|(letter, _)| *letter == 'w');
            let wait = wait.and_then(|(_, value)| value.parse().ok());
            let wait = Duration::from_secs(wait.unwrap_or(1)).min(PATIENCE);
            return self.exchange_datagrams(host, port, wait).await;
        }
        let world = self.shell.world.clone();
        let connected = world
            .network
            .connect(&world.namespace, world.ip.as_deref(), host, port)
            .await;
        let connection = match connected {
            Ok(connection) => connection,
            Err(error) => {
                return self
                    .fail(1, &format!("{host} ({host}:{port}): {error}"))
                    .await;
            }
        };
        if has('z') {
            return 0;
        }
        let (mut reader, mut writer) = tokio::io::split(connection);
        let sending = async {
            use tokio::io::AsyncWriteExt;
            while let Ok(bytes) = self.io.stdin.chunk().await {
                if bytes.is_empty() || writer.write_all(&bytes).await.is_err() {
                    break;
                }
            }
            // The peer may be gone.
            let _ = writer.shutdown().await;
            std::future::pending::<()>().await;
        };
        let receiving = async {
            use tokio::io::AsyncReadExt;
            let mut buffer = vec![0; 8192];
            loop {
                match reader.read(&mut buffer).await {
                    Ok(0) | Err(_) => return 0,
                    Ok(count) => match self.print(&buffer[..count]).await {
                        0 => {}
                        code => return code,
                    },
                }
            }
        };
        tokio::select! {
            () = sending => 0,
            code = receiving => code,
        }
    }

    /// Sends standard input as a datagram, and prints the answers until there are none for some time.
    async fn exchange_datagrams(&mut self, host: &str, port: u16, wait: Duration) -> i32 {
        let mut datagram = Vec::new();
        while let Ok(bytes) = self.io.stdin.chunk().await {
            if bytes.is_empty() {
                break;
            }
            datagram.extend_from_slice(&bytes);
            if datagram.len() > MOST_DATAGRAM {
                return self.fail(1, "message too long").await;
            }
        }
        let world = self.shell.world.clone();
        let own = world.ip.as_deref();
        let sent = world
            .network
            .send_udp(&world.namespace, own, (host, port), datagram.into());
        let mut answers = match sent.await {
            Ok(answers) => answers,
            Err(error) => return self.fail(1, &format!("{host}:{port}: {error}")).await,
        };
        let mut code = 1;
        while let Ok(Some(answer)) = tokio::time::timeout(wait, answers.recv()).await {
            code = self.print(&answer).await;
            if code != 0 {
                break;
            }
        }
        code
    }
}

/// Replaces the long options of curl that take a value by their short forms, and leaves out those without effect.
fn short_options(arguments: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let short = match argument.as_str() {
            "--request" => "-X",
            "--header" => "-H",
            "--data" | "--data-raw" | "--data-binary" => "-d",
            "--output" => "-o",
            "--max-time" => "-m",
            "--write-out" => "-w",
            "--user-agent" => "-A",
            "--user" => "-u",
            "--fail" => "-f",
            "--connect-timeout" | "--retry" | "--retry-delay" | "--cacert" | "--cert" | "--key"
            | "--interface" => {
                rest.next();
                continue;
            }
            other => other,
        };
        out.push(short.to_owned());
    }
    out
}

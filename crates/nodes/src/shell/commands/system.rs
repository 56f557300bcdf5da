//! Commands about the container, and small utilities.

use super::Call;

impl Call<'_> {
    pub(super) async fn system(&mut self) -> i32 {
        let rest: Vec<&str> = self.rest.iter().map(String::as_str).collect();
        match (self.name, &rest[..]) {
            ("true" | "sync" | "umask" | "kill", _) => 0,
            ("false", _) => 1,
            ("echo", rest) => self.print(echo(rest)).await,
            ("printf", [format, values @ ..]) => self.print(printf(format, values)).await,
            ("printf", []) => self.fail(1, "missing format").await,
            ("pwd", _) => self.print(format!("{}\n", self.shell.directory)).await,
            ("hostname", ["-i" | "-I", ..]) => {
                let ip = self.shell.world.ip.clone().unwrap_or_default();
                self.print(format!("{ip}\n")).await
            }
            ("hostname", ["-f" | "--fqdn", ..]) => {
                let host = &self.shell.world.hostname;
                let (_, names) = self.known_host(host).unwrap_or_default();
                let name = names.first().unwrap_or(host);
                self.print(format!("{name}\n")).await
            }
            ("hostname", _) => self.print(format!("{}\n", self.shell.world.hostname)).await,
            ("whoami", _) => match self.shell.world.user {
                0 => self.print("root\n").await,
                user => self.fail(1, &format!("unknown uid {user}")).await,
            },
            ("id", ["-u", ..]) => self.print(format!("{}\n", self.shell.world.user)).await,
            ("id", ["-g", ..]) => self.print(format!("{}\n", self.shell.world.group)).await,
            ("id", ["-G", ..]) => {
                let groups = self.shell.world.groups.iter().map(i64::to_string);
                let groups: Vec<String> = groups.collect();
                self.print(groups.join(" ") + "\n").await
            }
            ("id", _) => {
                let world = &self.shell.world;
                let groups: Vec<String> = world.groups.iter().map(|id| with_name(*id)).collect();
                let (user, group) = (with_name(world.user), with_name(world.group));
                self.print(format!(
                    "uid={user} gid={group} groups={}\n",
                    groups.join(",")
                ))
                .await
            }
            ("uname", rest) => {
                let host = &self.shell.world.hostname;
                let text = match rest.first() {
                    Some(&"-a") => format!("Linux {host} 6.12.0 #1 SMP x86_64 Linux\n"),
                    Some(&"-r") => "6.12.0\n".to_owned(),
                    Some(&"-m") => "x86_64\n".to_owned(),
                    Some(&"-n") => format!("{host}\n"),
                    _ => "Linux\n".to_owned(),
                };
                self.print(text).await
            }
            ("mount", rest) => {
                let mounts = [("overlay", "/"), ("cgroup2", "/sys/fs/cgroup")];
                let wanted = rest.iter().position(|word| *word == "-t");
                let wanted = wanted.and_then(|at| rest.get(at + 1));
                let mounts = mounts
                    .iter()
                    .filter(|(kind, _)| wanted.is_none_or(|w| w == kind));
                let lines = mounts.map(|(kind, at)| format!("{kind} on {at} type {kind} (rw)\n"));
                let lines: String = lines.collect();
                self.print(lines).await
            }
            ("ip", rest) if rest.contains(&"add") => match self.shell.world.is_privileged {
                true => 0,
                false => {
                    self.fail(2, "RTNETLINK answers: Operation not permitted")
                        .await
                }
            },
            ("ip", _) => {
                let ip = self.shell.world.ip.clone().unwrap_or_default();
                self.print(format!("2: eth0    inet {ip}/24 scope global eth0\n"))
                    .await
            }
            ("netstat", _) => {
                let world = &self.shell.world;
                let own = world.ip.as_deref().and_then(|ip| ip.parse().ok());
                let ports = own.map(|own| world.network.listening(own));
                let lines = ports.into_iter().flatten().map(|port| {
                    format!(
                        "tcp        0      0 0.0.0.0:{port:<15} 0.0.0.0:*               LISTEN\n"
                    )
                });
                let heading =
                    "Proto Recv-Q Send-Q Local Address           Foreign Address         State\n";
                let lines = heading.to_owned() + &lines.collect::<String>();
                self.print(lines).await
            }
            ("nproc", _) => self.print("8\n").await,
            ("ps", _) => {
                self.print(
                    "PID   USER     TIME  COMMAND\n    1 root      0:00 simulated container\n",
                )
                .await
            }
            ("date", rest) => self.date(rest).await,
            ("printenv", [name, ..]) => match self.shell.variables.get(*name) {
                Some(value) => self.print(format!("{value}\n")).await,
                None => 1,
            },
            ("printenv", []) => {
                let exported = self.shell.exported.iter();
                let values =
                    exported.filter_map(|name| Some((name, self.shell.variables.get(name)?)));
                let lines: String = values
                    .map(|(name, value)| format!("{name}={value}\n"))
                    .collect();
                self.print(lines).await
            }
            ("basename", [path, rest @ ..]) => {
                let name = path
                    .trim_end_matches('/')
                    .rsplit('/')
                    .next()
                    .unwrap_or_default();
                let name = rest
                    .first()
                    .and_then(|suffix| name.strip_suffix(suffix))
                    .unwrap_or(name);
                self.print(format!("{name}\n")).await
            }
            ("dirname", [path, ..]) => {
                let parent = path.trim_end_matches('/').rsplit_once('/');
                let parent = match parent {
                    None => ".",
                    Some(("", _)) => "/",
                    Some((parent, _)) => parent,
                };
                self.print(format!("{parent}\n")).await
            }
            _ => self.fail(1, "missing operand").await,
        }
    }

    async fn date(&self, rest: &[&str]) -> i32 {
        let now = self.now();
        let format = rest.iter().find_map(|word| word.strip_prefix('+'));
        let zone = jiff::tz::TimeZone::UTC;
        let text = jiff::fmt::strtime::format(
            format.unwrap_or("%a %b %e %H:%M:%S UTC %Y"),
            &now.to_zoned(zone),
        );
        match text {
            Ok(text) => self.print(format!("{text}\n")).await,
            Err(error) => self.fail(1, &error.to_string()).await,
        }
    }
}

/// Formats the number of a user or group as `id` does.
fn with_name(id: i64) -> String {
    match id {
        0 => "0(root)".to_owned(),
        id => id.to_string(),
    }
}

fn echo(mut words: &[&str]) -> String {
    let (mut newline, mut escapes) = (true, false);
    while let Some(first) = words
        .first()
        .filter(|word| matches!(**word, "-n" | "-e" | "-ne" | "-en" | "-E"))
    {
        newline &= !first.contains('n');
        escapes |= first.contains('e');
        words = &words[1..];
    }
    let text = words.join(" ");
    let text = if escapes { unescaped(&text) } else { text };
    match newline {
        true => text + "\n",
        false => text,
    }
}

/// Formats values; the format is reused until all values are printed.
fn printf(format: &str, values: &[&str]) -> String {
    let format = unescaped(format);
    let mut out = String::new();
    let mut values = values.iter();
    loop {
        let before = values.len();
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut width = String::new();
            while let Some(c) = chars.next_if(|c| c.is_ascii_digit() || matches!(c, '-' | '.')) {
                width.push(c);
            }
            match chars.next() {
                Some('%') => out.push('%'),
                Some('s' | 'b' | 'c') => {
                    pad(&mut out, values.next().copied().unwrap_or_default(), &width)
                }
                Some('d' | 'i' | 'u') => {
                    let number: i64 = values
                        .next()
                        .and_then(|value| value.parse().ok())
                        .unwrap_or_default();
                    pad(&mut out, &number.to_string(), &width);
                }
                Some('x') => {
                    let number: i64 = values
                        .next()
                        .and_then(|value| value.parse().ok())
                        .unwrap_or_default();
                    pad(&mut out, &format!("{number:x}"), &width);
                }
                Some(c) => out.extend(['%', c]),
                None => out.push('%'),
            }
        }
        if values.len() == 0 || values.len() == before {
            return out;
        }
    }
}

fn pad(out: &mut String, text: &str, width: &str) {
    let is_left = width.starts_with('-');
    let fill = if width.starts_with('0') { '0' } else { ' ' };
    let width = width
        .trim_start_matches('-')
        .split('.')
        .next()
        .unwrap_or_default();
    let missing = width
        .parse::<usize>()
        .unwrap_or(0)
        .min(1024)
        .saturating_sub(text.chars().count());
    let padding = std::iter::repeat_n(fill, missing);
    match is_left {
        true => {
            out.push_str(text);
            out.extend(std::iter::repeat_n(' ', missing));
        }
        false => {
            out.extend(padding);
            out.push_str(text);
        }
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('\\') => out.push('\\'),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}

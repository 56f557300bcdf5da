//! The figures of the whole process: requests, caches, watches, leadership, CPU and memory.

use serde_json::{Value, json};

use crate::operator::endpoint::samples;

/// The figures of the process at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Process {
    /// Requests by their class: `2xx`, `4xx`, `429`, `5xx`.
    requests: [f64; 4],
    cpu_seconds: f64,
    memory: f64,
    objects: f64,
    bytes: f64,
    watch_age: f64,
}

/// The classes of responses.
const CLASSES: [&str; 4] = ["2xx", "4xx", "429", "5xx"];

/// The rates between two moments.
pub(super) struct Usage<'a> {
    now: &'a Process,
    requests: [f64; 4],
    cpu: f64,
    leading: bool,
}

impl Process {
    /// Reads the figures from the metrics.
    pub(super) fn read(text: &str) -> Self {
        let mut requests = [0.0; 4];
        for (code, count) in samples(text, "rest_client_requests_total", "code") {
            let class = match code.as_str() {
                "429" => 2,
                code if code.starts_with('5') => 3,
                code if code.starts_with('4') => 1,
                _ => 0,
            };
            requests[class] += count;
        }
        let sum = |name: &str| samples(text, name, "resource").into_values().sum();
        let ages = samples(text, "kubewright_watch_age_seconds", "resource");
        Self {
            requests,
            cpu_seconds: single(text, "process_cpu_seconds_total"),
            memory: single(text, "process_resident_memory_bytes"),
            objects: sum("informer_store_items"),
            bytes: sum("informer_store_bytes"),
            watch_age: ages.into_values().fold(0.0, f64::max),
        }
    }

    pub(super) fn since<'a>(&'a self, before: &Process, seconds: f64, leading: bool) -> Usage<'a> {
        let mut requests = self.requests;
        for (now, before) in requests.iter_mut().zip(before.requests) {
            *now = (*now - before).max(0.0) / seconds;
        }
        Usage {
            now: self,
            requests,
            cpu: (self.cpu_seconds - before.cpu_seconds).max(0.0) / seconds,
            leading,
        }
    }
}

impl Usage<'_> {
    pub(super) fn line(&self) -> String {
        let all: f64 = self.requests.iter().sum();
        let classes = CLASSES.iter().zip(self.requests);
        let classes: Vec<String> = classes
            .filter(|(_, rate)| *rate > 0.0)
            .map(|(class, rate)| format!("{class} {rate:.1}"))
            .collect();
        let classes = match classes.is_empty() {
            true => String::new(),
            false => format!(" ({})", classes.join(", ")),
        };
        let Process {
            objects,
            bytes,
            memory,
            watch_age,
            ..
        } = self.now;
        let leader = if self.leading { "yes" } else { "no" };
        format!(
            "requests {all:.1}/s{classes}  cache {objects} objects, {:.1} MiB  oldest watch {watch_age:.0} s  \
             leader {leader}  cpu {:.1} %  memory {:.1} MiB\n",
            bytes / MIB,
            self.cpu * 100.0,
            memory / MIB,
        )
    }

    pub(super) fn value(&self) -> Value {
        let classes = CLASSES.iter().zip(self.requests);
        let requests: serde_json::Map<String, Value> = classes
            .map(|(class, rate)| ((*class).to_owned(), rate.into()))
            .collect();
        json!({
            "requestsPerSecond": requests,
            "cacheObjects": self.now.objects,
            "cacheBytes": self.now.bytes,
            "watchAgeSeconds": self.now.watch_age,
            "cpu": self.cpu,
            "memoryBytes": self.now.memory,
        })
    }
}

const MIB: f64 = (1 << 20) as f64;

/// Returns the value of a metric without labels.
fn single(text: &str, name: &str) -> f64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let value = lines.find_map(|rest| rest.strip_prefix(' ')?.trim().parse().ok());
    value.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(requests: u32, refused: u32, cpu: &str) -> String {
        format!(
            "rest_client_requests_total{{code=\"200\",host=\"h\",method=\"GET\"}} {requests}\n\
             rest_client_requests_total{{code=\"429\",host=\"h\",method=\"GET\"}} {refused}\n\
             informer_store_items{{resource=\"pods\"}} 3\ninformer_store_items{{resource=\"nodes\"}} 2\n\
             informer_store_bytes{{resource=\"pods\"}} 1048576\n\
             kubewright_watch_age_seconds{{resource=\"pods\"}} 7.2\n\
             kubewright_watch_age_seconds{{resource=\"nodes\"}} 41\n\
             process_cpu_seconds_total {cpu}\nprocess_resident_memory_bytes 2.097152e+07\n"
        )
    }

    #[test]
    fn rates_are_those_of_the_interval() {
        let (before, now) = (
            Process::read(&text(10, 0, "1.5")),
            Process::read(&text(30, 2, "1.7")),
        );
        let usage = now.since(&before, 2.0, true);
        assert_eq!(
            usage.line(),
            "requests 11.0/s (2xx 10.0, 429 1.0)  cache 5 objects, 1.0 MiB  oldest watch 41 s  leader yes  \
             cpu 10.0 %  memory 20.0 MiB\n"
        );
        assert_eq!(usage.value()["requestsPerSecond"]["429"], 1.0);
    }
}

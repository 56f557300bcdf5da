//! The metrics of the process, under the names of Prometheus' Go client, from `/proc/self`.

use std::{fs, io};

use kubewright_metrics::{MetricType, TextWriter};

/// The clock ticks of a second in `/proc`: the same on all architectures that Linux supports.
const TICKS: f64 = 100.0;

/// The figures of this process in `/proc`.
#[derive(Debug, PartialEq)]
struct Usage {
    cpu_seconds: f64,
    resident_bytes: f64,
    open_files: f64,
    start_seconds: f64,
}

/// Writes the metrics of the process. On systems without `/proc` there are none.
pub(crate) fn collect(out: &mut TextWriter) {
    let Ok(usage) = Usage::read() else {
        return;
    };
    let metrics = [
        (
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            MetricType::Counter,
            usage.cpu_seconds,
        ),
        (
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            MetricType::Gauge,
            usage.resident_bytes,
        ),
        (
            "process_open_fds",
            "Number of open file descriptors.",
            MetricType::Gauge,
            usage.open_files,
        ),
        (
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
            MetricType::Gauge,
            usage.start_seconds,
        ),
    ];
    for (name, help, kind, value) in metrics {
        out.heading(name, help, kind);
        out.sample(name, [], value);
    }
}

impl Usage {
    fn read() -> io::Result<Self> {
        let stat = fs::read_to_string("/proc/self/stat")?;
        let status = fs::read_to_string("/proc/self/status")?;
        let system = fs::read_to_string("/proc/stat")?;
        let open_files = fs::read_dir("/proc/self/fd")?.count();
        let parsed = Self::parse(&stat, &status, &system, open_files);
        parsed.ok_or_else(|| io::Error::other("/proc has another form"))
    }

    fn parse(stat: &str, status: &str, system: &str, open_files: usize) -> Option<Self> {
        // The name of the program, in parentheses, may contain anything.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
        let line = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        Some(Self {
            cpu_seconds: (number(11)? + number(12)?) / TICKS,
            resident_bytes: line(status, "VmRSS:")? * 1024.0,
            open_files: open_files as f64,
            start_seconds: line(system, "btime ")? + number(19)? / TICKS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_from_proc() {
        let stat = "42 (a) (b) S 1 1 1 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 9 0 12300 1 2";
        let usage = Usage::parse(
            stat,
            "VmPeak:\t9 kB\nVmRSS:\t  64 kB\n",
            "cpu 1\nbtime 1000\n",
            7,
        );
        let expected = Usage {
            cpu_seconds: 3.0,
            resident_bytes: 65536.0,
            open_files: 7.0,
            start_seconds: 1123.0,
        };
        assert_eq!(usage, Some(expected));
        assert_eq!(Usage::parse("42 (a", "", "", 0), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_metrics() {
        let registry = kubewright_metrics::Registry::new();
        registry.register(collect);
        let text = registry.encode();
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()
        };
        assert!(value("process_resident_memory_bytes") > 1e6, "{text}");
        assert!(value("process_open_fds") > 2.0, "{text}");
        assert!(value("process_start_time_seconds") > 1.7e9, "{text}");
    }
}

//! The figures on the page about limits are those of the code.

use std::{fs, path::Path};

/// The start of a row on the page, a file below `crates`, and the line of the file that defines the bound.
const ROWS: &[(&str, &str, &str)] = &[
    (
        "concurrent connections | 10,000 |",
        "serve/src/limits.rs",
        "max_connections: 10_000,",
    ),
    (
        "TLS handshake | 10 s |",
        "serve/src/limits.rs",
        "handshake_timeout: Duration::from_secs(10),",
    ),
    (
        "first request of a connection, head of any request | 32 s |",
        "serve/src/limits.rs",
        "header_timeout: Duration::from_secs(32),",
    ),
    (
        "connection without a request | 90 s |",
        "serve/src/limits.rs",
        "idle_timeout: Duration::from_secs(90),",
    ),
    (
        "write that the peer does not read | 60 s |",
        "serve/src/limits.rs",
        "write_timeout: Duration::from_secs(60),",
    ),
    (
        "head of a request | 1 MiB |",
        "serve/src/limits.rs",
        "max_header_bytes: 1 << 20,",
    ),
    (
        "concurrent requests of an HTTP/2 connection | 250 |",
        "serve/src/limits.rs",
        "max_concurrent_streams: 250,",
    ),
    (
        "body of a request | 3 MiB |",
        "machinery/src/limits.rs",
        "pub const MAX_REQUEST_BYTES: usize = 3 << 20;",
    ),
    (
        "requests in flight that read, of users who are not in `system:masters` | 400 |",
        "apiserver/src/server/in_flight.rs",
        "read_only: 400,",
    ),
    (
        "requests in flight that write | 200 |",
        "apiserver/src/server/in_flight.rs",
        "mutating: 200,",
    ),
    (
        "bytes of bodies in memory, beyond the first 64 KiB of each | 64 MiB |",
        "apiserver/src/server/in_flight.rs",
        "body_bytes: 64 << 20,",
    ),
    (
        "bytes of bodies in memory, beyond the first 64 KiB of each |",
        "apiserver/src/server/in_flight.rs",
        "const FREE_BYTES: usize = 64 << 10;",
    ),
    (
        "duration of a request that is not a stream, its response included | 60 s |",
        "apiserver/src/server/deadline.rs",
        "pub(super) const LONGEST: Duration = Duration::from_secs(60);",
    ),
    (
        "warnings of a response | 4,096 characters |",
        "apiserver/src/server/service.rs",
        "const WARNINGS_LIMIT: usize = 4 * 1024;",
    ),
    (
        "nesting of a document | 120 levels |",
        "machinery/src/limits.rs",
        "pub const DOCUMENT_DEPTH: usize = 120;",
    ),
    (
        "operations of a JSON patch | 10,000 |",
        "merge/src/json_patch/mod.rs",
        "pub const MAX_OPERATIONS: usize = 10_000;",
    ),
    (
        "array elements that a JSON patch moves, and bytes that it compares | 16,777,216 |",
        "merge/src/json_patch/mod.rs",
        "pub const MAX_WORK: usize = 1 << 24;",
    ),
    (
        "stored object, built-in kinds in protobuf, custom kinds in JSON | 1.5 MiB",
        "machinery/src/limits.rs",
        "pub const MAX_OBJECT_BYTES: usize = 3 << 19;",
    ),
    (
        "object between two webhooks or mutating policies | 4.5 MiB |",
        "machinery/src/limits.rs",
        "pub const MAX_MUTATED_BYTES: usize = MAX_OBJECT_BYTES + MAX_ADDED_BYTES;",
    ),
    (
        "bytes that the defaults of a custom resource add | 3 MiB |",
        "machinery/src/limits.rs",
        "pub const MAX_ADDED_BYTES: usize = 2 * MAX_OBJECT_BYTES;",
    ),
    (
        "pods that a change of a namespace's Pod Security level checks | 3,000, for at most 1 s |",
        "kube-apiserver/src/admission/pod_security/existing.rs",
        "const MOST: usize = 3000;",
    ),
    (
        "schemas, patterns and expressions that are compiled at the same time | 1 |",
        "kube-apiserver/src/server/start.rs",
        "const COMPILER_THREADS: usize = 1;",
    ),
    (
        "threads that validate custom objects of more than 128 KiB, or with rules that cost more than 100,000 | 2 |",
        "kube-apiserver/src/server/start.rs",
        "const VALIDATION_THREADS: usize = 2;",
    ),
    (
        "threads that validate custom objects of more than 128 KiB,",
        "custom-kinds/src/strategy.rs",
        "const BYTES_IN_PLACE: usize = 128 << 10;",
    ),
    (
        "threads that validate custom objects of more than 128 KiB, or with rules that cost more than 100,000 |",
        "custom-kinds/src/strategy.rs",
        "const COST_IN_PLACE: i64 = 100_000;",
    ),
    (
        "clients that are kept, and idle connections of each | 200, and 25 for 90 s |",
        "kube-apiserver/src/outgoing/pool.rs",
        "const MAX_CLIENTS: usize = 200;",
    ),
    (
        "response of a webhook | 4 MiB, or four times the request |",
        "kube-apiserver/src/outgoing/mod.rs",
        "const MAX_ANSWER: usize = 4 << 20;",
    ),
    (
        "text of a response in a message | 256 characters, escaped |",
        "kube-apiserver/src/outgoing/mod.rs",
        "const MAX_EXCERPT: usize = 256;",
    ),
    (
        "record in the log of a data directory | 32 MiB |",
        "store-durable/src/format/mod.rs",
        "pub(crate) const MAX_RECORD: usize = 32 << 20;",
    ),
    (
        "writes that wait for the disk | 4,096, or 4 MiB |",
        "store-durable/src/engine/mod.rs",
        "const MAX_GROUP_BYTES: usize = 4 << 20;",
    ),
    (
        "audit events that wait to be written | 10,000, and 64 MiB |",
        "apiserver/src/audit/json_lines.rs",
        "const MAX_EVENTS: usize = 10_000;",
    ),
    (
        "answer in an audit event | 10 MiB |",
        "apiserver/src/audit/record.rs",
        "pub(crate) const MAX_RESPONSE: usize = 10 << 20;",
    ),
    (
        "length of a regular expression | 64 KiB |",
        "cel/src/regex/mod.rs",
        "pub const MAX_PATTERN_BYTES: usize = 64 << 10;",
    ),
    (
        "memory of a compiled regular expression | 10 MiB |",
        "cel/src/regex/mod.rs",
        "const SIZE_LIMIT: usize = 10 << 20;",
    ),
    (
        "nesting of groups in a regular expression | 200 |",
        "cel/src/regex/rewrite.rs",
        "const MAX_NESTING: usize = 200;",
    ),
    (
        "length of a CEL expression | 100,000 characters |",
        "cel/src/parser/mod.rs",
        "const MAX_CHARACTERS: usize = 100_000;",
    ),
    (
        "nesting of a CEL expression | 250 levels |",
        "cel/src/parser/grammar.rs",
        "const MAX_DEPTH: usize = 250;",
    ),
    (
        "cost of one CEL expression | 1,000,000 |",
        "cel/src/limits.rs",
        "pub const PER_CALL_LIMIT: u64 = 1_000_000;",
    ),
    (
        "cost of the CEL rules of an object | 10,000,000 |",
        "cel/src/limits.rs",
        "pub const RUNTIME_COST_BUDGET: i64 = 10_000_000;",
    ),
    (
        "estimated cost of a CEL rule, and of all rules of a CRD | 10,000,000, and 100,000,000 |",
        "cel/src/limits.rs",
        "pub const STATIC_CRD_COST_LIMIT: u64 = 100_000_000;",
    ),
    (
        "field errors of an invalid object | 1,000, and no more after 1 MiB |",
        "machinery/src/limits.rs",
        "pub const MAX_FIELD_ERRORS: usize = 1000;",
    ),
    (
        "path of a field in an error | 8 KiB |",
        "machinery/src/limits.rs",
        "pub const MAX_PATH_BYTES: usize = 8 << 10;",
    ),
    (
        "response that is read as a whole | 256 MiB |",
        "client/src/rest/response.rs",
        "pub(crate) const MAX_RESPONSE: usize = 256 << 20;",
    ),
    (
        "response to a failed request | 1 MiB, of which 2 KiB are in the error |",
        "client/src/rest/failure.rs",
        "const MAX_FAILURE: usize = 1 << 20;",
    ),
    (
        "object in a list or watch | 32 MiB |",
        "client/src/stream/mod.rs",
        "pub const MAX_OBJECT: usize = 32 << 20;",
    ),
    (
        "list in any encoding | 64 KiB are encoded at a time",
        "apiserver/src/respond/list/stream.rs",
        "const CHUNK: usize = 64 * 1024;",
    ),
    (
        "events of a watch that are read and not encoded | 32 KiB, or one event |",
        "store/src/memory/watch.rs",
        "const BATCH_BYTES: usize = 32 << 10;",
    ),
    (
        "frames that watchers of a resource share | 16 frames, 4 MiB |",
        "apiserver/src/respond/frames.rs",
        "const MAX_BYTES: usize = 4 << 20;",
    ),
    (
        "frames that watchers of a resource share | 16 frames,",
        "apiserver/src/respond/frames.rs",
        "const MAX_FRAMES: usize = 16;",
    ),
    (
        "objects that are decoded and converted together, in lists and at the start of watches | 2 MiB, or one object |",
        "apiserver/src/registry/generic/codec.rs",
        "const BATCH_BYTES: usize = 2 << 20;",
    ),
    (
        "converted objects of a chunk (`limit`) | 16 MiB |",
        "apiserver/src/registry/generic/list.rs",
        "const CHUNK_BYTES: usize = 16 << 20;",
    ),
    (
        "combinations of labels of a metric of requests | 8,192 |",
        "apiserver/src/endpoints/metrics/mod.rs",
        "const MOST_SERIES: usize = 8192;",
    ),
    (
        "changes that are kept | 100,000, for 10 minutes, 64 MiB |",
        "store/src/memory/limits.rs",
        "max_changes: 100_000,",
    ),
    (
        "changes that are kept | 100,000, for 10 minutes, 64 MiB |",
        "store/src/memory/limits.rs",
        "max_age: Duration::from_secs(600),",
    ),
    (
        "changes that are kept | 100,000, for 10 minutes, 64 MiB |",
        "store/src/memory/limits.rs",
        "max_bytes: 64 << 20,",
    ),
    (
        "changes that a watcher is behind | 16,384 |",
        "store/src/memory/limits.rs",
        "max_lag: 16_384,",
    ),
    (
        "response of etcd | 512 MiB |",
        "store-etcd/src/grpc/frame.rs",
        "const MAX_MESSAGE: usize = 512 << 20;",
    ),
    (
        "connection of `exec`, `attach`, `portforward` without traffic | 4 h |",
        "streams/src/limits.rs",
        "idle_timeout: Duration::from_secs(4 * 60 * 60),",
    ),
    (
        "time to open the streams that belong together | 30 s |",
        "streams/src/limits.rs",
        "creation_timeout: Duration::from_secs(30),",
    ),
    (
        "streams of a SPDY connection | 512; 8 of",
        "streams/src/limits.rs",
        "max_streams: 512,",
    ),
    (
        "streams of a SPDY connection | 512; 8 of",
        "streams/src/exec/spdy.rs",
        "const STREAMS: usize = 8;",
    ),
    (
        "headers of a SPDY stream | 64 KiB, 100 headers |",
        "streams/src/spdy/headers.rs",
        "const MAX_HEADERS: u32 = 100;",
    ),
    (
        "ports that a WebSocket forwards | 64 |",
        "streams/src/limits.rs",
        "max_ports: 64,",
    ),
    (
        "files of a container | 64 MiB, 65,536 entries |",
        "nodes/src/files/tree.rs",
        "const MOST_BYTES: usize = 64 << 20;",
    ),
    (
        "files of a container | 64 MiB, 65,536 entries |",
        "nodes/src/files/tree.rs",
        "const MOST_ENTRIES: usize = 1 << 16;",
    ),
    (
        "archive that is copied in or out | 128 MiB |",
        "nodes/src/files/archive.rs",
        "const MOST_BYTES: usize = 128 << 20;",
    ),
    (
        "links that a path leads through | 16 |",
        "nodes/src/files/mod.rs",
        "const MOST_LINKS: usize = 16;",
    ),
    (
        "script | 1,048,576 characters, 50 levels |",
        "nodes/src/shell/parse/mod.rs",
        "const LONGEST: usize = 1 << 20;",
    ),
    (
        "script | 1,048,576 characters, 50 levels |",
        "nodes/src/shell/parse/mod.rs",
        "const DEEPEST: usize = 50;",
    ),
    (
        "output of a command substitution | 1 MiB |",
        "nodes/src/shell/expand.rs",
        "const MOST_OUTPUT: usize = 1 << 20;",
    ),
    (
        "background jobs of a script | 64 |",
        "nodes/src/shell/run.rs",
        "const MOST_JOBS: usize = 64;",
    ),
    (
        "termination message | 4,096 bytes |",
        "nodes/src/pod/status.rs",
        "const LONGEST_MESSAGE: usize = 4096;",
    ),
    (
        "requests that are kept | 100,000, 32 MiB |",
        "ledger/src/ledger.rs",
        "const REQUESTS: usize = 100_000;",
    ),
    (
        "requests that are kept | 100,000, 32 MiB |",
        "ledger/src/ledger.rs",
        "const REQUEST_BYTES: usize = 32 << 20;",
    ),
    (
        "denied requests that are kept | 10,000, 4 MiB |",
        "ledger/src/ledger.rs",
        "const DENIALS: usize = 10_000;",
    ),
    (
        "runs of controllers that are kept | 50 of each object, 64 MiB together |",
        "ledger/src/runs.rs",
        "const RUNS_OF_KEY: usize = 50;",
    ),
    (
        "report of a controller | 4 MiB |",
        "apiserver/src/ledger/reports.rs",
        "const MAX_BYTES: usize = 4 << 20;",
    ),
    (
        "rows of a table | 500,000 |",
        "console/src/stream/table.rs",
        "const MOST: usize = 500_000;",
    ),
    (
        "rows that are sent at once | 200 |",
        "console/src/stream/window.rs",
        "pub(crate) const LARGEST: usize = 200;",
    ),
    (
        "tables of a tab | 16 |",
        "console/src/stream/subscription.rs",
        "const MOST: usize = 16;",
    ),
    (
        "response that is masked | 64 MiB |",
        "console/src/forward.rs",
        "const LARGEST: usize = 64 << 20;",
    ),
];

#[test]
fn the_page_about_limits_has_the_figures_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| fs::read_to_string(path).expect("a file of the repository");
    let page = read(&root.join("src/limits.md"));
    for (row, file, line) in ROWS {
        let is_listed = page.lines().any(|l| l.starts_with(&format!("| {row}")));
        assert!(is_listed, "the page has no row that starts with: {row}");
        let code = read(&root.join("../../crates").join(file));
        let is_defined = code.lines().any(|l| l.trim() == *line);
        assert!(
            is_defined,
            "{file} has no line `{line}`: correct the page, and this test, for: {row}"
        );
    }
}

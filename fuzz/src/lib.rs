//! The bodies of the fuzz targets.
//!
//! A target is a plain function that takes any bytes and panics if something does not hold. libFuzzer calls it with inputs that
//! it invents (`cargo xtask fuzz`); the test of this crate calls it with the inputs in `corpus/`, so that what was found once
//! stays fixed. Inputs with several parts separate them by a line with two dashes.
//!
//! | module | targets |
//! |---|---|
//! | `documents` | `json`, `yaml`, `protobuf` |
//! | `patches` | `json-patch`, `merge-patch`, `strategic-patch`, `apply` |
//! | `selectors` | `selectors` |
//! | `tokens` | `tokens` |
//! | `credentials` | `credentials`: tokens and certificates |
//! | `cel` | `cel` |
//! | `schemas` | `schemas` |
//! | `stores` | `store-log`, `store-files`, `store-directory`: what a data directory has |
//! | `etcd` | `etcd-snapshot`, and `etcd-messages`: what etcd and its snapshot files have |
//! | `reviews` | `audit-policy`, `webhook-reviews` |
//! | `requests` | `requests`: one or several requests to a whole server |
//! | `connection` | `connection`: bytes on a socket of a whole server |
//!
//! ```
//! for target in kubewright_fuzz::TARGETS {
//!     (target.run)(b"{}");
//! }
//! ```

mod cel;
mod connection;
mod credentials;
mod documents;
mod etcd;
mod parts;
mod patches;
mod requests;
mod reviews;
mod schemas;
mod selectors;
mod stores;
mod tokens;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name on the command line, which is also that of its directory in `corpus/`.
    pub name: &'static str,
    /// Checks one input, and panics if something does not hold.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "json",
        run: documents::json,
    },
    Target {
        name: "yaml",
        run: documents::yaml,
    },
    Target {
        name: "protobuf",
        run: documents::protobuf,
    },
    Target {
        name: "json-patch",
        run: patches::json_patch,
    },
    Target {
        name: "merge-patch",
        run: patches::merge_patch,
    },
    Target {
        name: "strategic-patch",
        run: patches::strategic_patch,
    },
    Target {
        name: "apply",
        run: patches::apply,
    },
    Target {
        name: "selectors",
        run: selectors::selectors,
    },
    Target {
        name: "tokens",
        run: tokens::tokens,
    },
    Target {
        name: "credentials",
        run: credentials::credentials,
    },
    Target {
        name: "cel",
        run: cel::cel,
    },
    Target {
        name: "schemas",
        run: schemas::schemas,
    },
    Target {
        name: "store-log",
        run: kubewright_store_durable::fuzzing::log,
    },
    Target {
        name: "store-files",
        run: kubewright_store_durable::fuzzing::files,
    },
    Target {
        name: "store-directory",
        run: stores::directory,
    },
    Target {
        name: "etcd-snapshot",
        run: etcd::snapshots,
    },
    Target {
        name: "etcd-messages",
        run: kubewright_store_etcd::fuzzing::messages,
    },
    Target {
        name: "audit-policy",
        run: reviews::policy,
    },
    Target {
        name: "webhook-reviews",
        run: reviews::review,
    },
    Target {
        name: "requests",
        run: requests::requests,
    },
    Target {
        name: "connection",
        run: connection::connection,
    },
];

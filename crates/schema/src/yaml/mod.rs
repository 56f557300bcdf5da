//! YAML, read and written as a Kubernetes API server does it.
//!
//! | module | contents |
//! |---|---|
//! | `read` | [`parse_yaml`]: text to a [`Node`](crate::Node), by the rules of YAML 1.1 |
//! | `write` | [`to_yaml`]: a value to text, byte for byte as the server prints it |
//!
//! ```
//! use kubewright_schema::yaml::{parse_yaml, to_yaml};
//!
//! let yaml = parse_yaml(b"b: [1, yes]\na: '010'\n")?;
//! let value = yaml.node.into_value()?;
//! assert_eq!(to_yaml(&value)?, "a: \"010\"\nb:\n- 1\n- true\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod read;
mod write;

pub use read::{Yaml, YamlError, parse_yaml};
pub use write::{YamlPart, YamlStep, YamlWriteError, to_yaml, to_yaml_with};

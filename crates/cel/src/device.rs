//! Expressions that select devices, in `DeviceClass` and `ResourceClaim`.
//!
//! ```
//! use kubewright_cel::compile_device_selector;
//!
//! assert!(compile_device_selector("device.driver == 'gpu.example.com'").is_ok());
//! assert_eq!(
//!     compile_device_selector("device.driver").unwrap_err().to_string(),
//!     "must evaluate to bool or the unknown type, not string"
//! );
//! ```

use std::sync::{Arc, OnceLock};

use crate::checker::Checked;
use crate::compile_error::CompileError;
use crate::decl::DeclType;
use crate::env::Env;
use crate::types::Type;

/// The maximum estimated cost of a selector.
const MAX_COST: u64 = 1_000_000;
/// The maximum number of attributes and capacities of a device.
const MAX_ATTRIBUTES: i64 = 32;
/// The longest value of an attribute.
const MAX_VALUE: i64 = 64;
/// The longest name of a driver.
const MAX_DRIVER: i64 = 63;

/// Compiles an expression that selects devices.
///
/// # Errors
///
/// Returns an error if the expression does not compile, is neither a `bool` nor an attribute, or may cost too much.
pub fn compile_device_selector(expression: &str) -> Result<Checked, CompileError> {
    let env = Env::new()
        .with_bindings()
        .declared("device", "kubernetes.DRADevice", device_type());
    let checked = env
        .compile(expression)
        .map_err(|issues| CompileError::Invalid(format!("compilation failed: {issues}")))?;
    let found = checked.output_type();
    if !matches!(found, Type::Bool | Type::Any) {
        let found = found.declared_name();
        return Err(CompileError::Invalid(format!(
            "must evaluate to bool or the unknown type, not {found}"
        )));
    }
    checked
        .program()
        .map_err(|why| CompileError::Internal(format!("program instantiation failed: {why}")))?;
    if checked.estimate_cost().max > MAX_COST {
        return Err(CompileError::TooComplex);
    }
    Ok(checked)
}

fn device_type() -> &'static Arc<DeclType> {
    static TYPE: OnceLock<Arc<DeclType>> = OnceLock::new();
    TYPE.get_or_init(|| {
        let by_domain = |value: Arc<DeclType>| {
            DeclType::map(DeclType::map(value, MAX_ATTRIBUTES), MAX_ATTRIBUTES)
        };
        let quantity = DeclType::scalar(Type::object("kubernetes.Quantity"));
        DeclType::named_object(
            "kubernetes.DRADevice",
            [
                ("driver", DeclType::bounded(Type::String, MAX_DRIVER)),
                (
                    "attributes",
                    by_domain(DeclType::bounded(Type::Any, MAX_VALUE)),
                ),
                ("capacity", by_domain(quantity)),
                ("allowMultipleAllocations", DeclType::bounded(Type::Bool, 1)),
            ],
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_a_driver_attributes_and_capacities() {
        for expression in [
            "true",
            "device.driver == \"x\"",
            "device.attributes[\"a\"].b",
            "device.attributes[\"a\"].b > 1",
            "device.capacity[\"a\"].b.isGreaterThan(quantity(\"1\"))",
            "device.allowMultipleAllocations",
            "cel.bind(a, device.attributes[\"x\"], a.b)",
            "device.attributes[\"dra.example.com\"].services.matches(\"a\")",
            "device.attributes[\"a\"].exists(x, x == \"b\")",
            "device.attributes[\"a\"].b.isGreaterThan(semver(\"1.2.3\"))",
        ] {
            let compiled = compile_device_selector(expression);
            assert!(compiled.is_ok(), "{expression}: {compiled:?}");
        }
    }

    #[test]
    fn the_result_must_be_a_bool_or_an_attribute() {
        for (expression, message) in [
            ("1", "must evaluate to bool or the unknown type, not int"),
            (
                "dyn(1)",
                "must evaluate to bool or the unknown type, not dyn",
            ),
            (
                "device",
                "must evaluate to bool or the unknown type, not kubernetes.DRADevice",
            ),
            (
                "device.capacity[\"a\"].b",
                "must evaluate to bool or the unknown type, not kubernetes.Quantity",
            ),
            (
                "device.attributes[\"a\"]",
                "must evaluate to bool or the unknown type, not map(string, google.protobuf.Any)",
            ),
            (
                "device.foo",
                "compilation failed: ERROR: <input>:1:7: undefined field 'foo'\n | device.foo\n | ......^",
            ),
        ] {
            let error = compile_device_selector(expression).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn selectors_have_a_cost_limit() {
        let nested = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, \
                      device.attributes.all(d, true))))";
        assert_eq!(
            compile_device_selector(nested).unwrap_err(),
            CompileError::TooComplex
        );
    }
}

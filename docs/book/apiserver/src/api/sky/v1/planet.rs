//! The kind `Planet`: its spec and its status.

use kube::CustomResource;
use kubewright::Schema;
use serde::{Deserialize, Serialize};

/// A planet of the solar system.
#[derive(CustomResource, Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "sky.example.com",
    version = "v1",
    kind = "Planet",
    plural = "planets",
    shortname = "pl",
    status = "PlanetStatus",
    selectable = ".spec.moons",
    printcolumn(name = "Year", type_ = "integer", json_path = ".spec.yearInDays"),
    printcolumn(name = "Visible", type_ = "boolean", json_path = ".status.visible")
)]
#[serde(rename_all = "camelCase")]
pub struct PlanetSpec {
    /// The orbital period in days.
    pub year_in_days: u32,
    /// The number of moons.
    pub moons: u32,
}

/// The observed state of a Planet.
#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanetStatus {
    /// Whether it can be seen without a telescope.
    pub visible: bool,
}

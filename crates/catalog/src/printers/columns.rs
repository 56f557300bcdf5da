//! Constructors for column definitions, so that a printer's columns read as a table.

use super::Column;

/// The column that holds the object's name.
pub(super) const NAME: Column = Column {
    name: "Name",
    ty: "string",
    format: "name",
    description: "The name of the object, unique among its kind within a namespace.",
    priority: 0,
};

/// The column that holds the time since the object was created.
pub(super) const AGE: Column = text("Age", "How long ago the object was created.");

/// The wide column with the container names of a pod template.
pub(super) const CONTAINERS: Column = text(
    "Containers",
    "The names of the containers in the pod template.",
)
.wide();

/// The wide column with the container images of a pod template.
pub(super) const IMAGES: Column = text(
    "Images",
    "The images of the containers in the pod template.",
)
.wide();

/// The wide column with the label selector of a workload.
pub(super) const SELECTOR: Column = text(
    "Selector",
    "The label selector of the pods that belong to the object.",
)
.wide();

/// A column of strings.
pub(super) const fn text(name: &'static str, description: &'static str) -> Column {
    column(name, "string", description)
}

/// A column of integers.
pub(super) const fn integer(name: &'static str, description: &'static str) -> Column {
    column(name, "integer", description)
}

/// A column of booleans.
pub(super) const fn boolean(name: &'static str, description: &'static str) -> Column {
    column(name, "boolean", description)
}

/// A column of dates.
pub(super) const fn date(name: &'static str, description: &'static str) -> Column {
    column(name, "date", description)
}

impl Column {
    /// The same column, shown in wide output only.
    pub(super) const fn wide(self) -> Self {
        Self {
            priority: 1,
            ..self
        }
    }

    /// The same column, marked as one that identifies an object.
    pub(super) const fn named(self) -> Self {
        Self {
            format: "name",
            ..self
        }
    }
}

const fn column(name: &'static str, ty: &'static str, description: &'static str) -> Column {
    Column {
        name,
        ty,
        format: "",
        description,
        priority: 0,
    }
}

//! Kinds that are not built in, declared by their fields.

use std::collections::HashSet;

use crate::{
    DecodeError, Decoded, ListType, ObjectType,
    decode::decode_kind,
    layout::{Lookup, declare},
};

/// A message: the fields of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageType {
    /// The name, as in `.proto` files.
    pub name: String,
    /// The fields.
    pub fields: Vec<MessageField>,
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageField {
    /// The JSON name.
    pub json: String,
    /// The number, up to [`MessageType::HIGHEST_NUMBER`].
    pub number: u16,
    /// The type of the value.
    pub value: ValueType,
    /// Whether the field is always present. A required list or map without entries is empty, others are absent.
    pub required: bool,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// `bool`
    Bool,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `double`
    Double,
    /// `string`
    String,
    /// A message with the fields of `k8s.io.apimachinery.pkg.util.intstr.IntOrString`, and an `int64` in it.
    IntOrString,
    /// `k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta`
    ObjectMeta,
    /// `k8s.io.apimachinery.pkg.apis.meta.v1.ListMeta`
    ListMeta,
    /// `k8s.io.apimachinery.pkg.runtime.RawExtension`, which holds any JSON.
    Json,
    /// A message.
    Message(MessageType),
    /// A list. Items that are lists or maps are JSON.
    List(Box<ValueType>),
    /// A map from strings. Values that are lists or maps are JSON.
    Map(Box<ValueType>),
}

/// A message that cannot be declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeclareError {
    /// Two fields have the same number.
    #[error("{message}: the fields {first} and {second} have the number {number}")]
    SameNumber {
        /// The message.
        message: String,
        /// The number.
        number: u16,
        /// One field.
        first: String,
        /// The other field.
        second: String,
    },
    /// Two fields have the same name.
    #[error("{message}: there are two fields {field}")]
    SameName {
        /// The message.
        message: String,
        /// The field.
        field: String,
    },
    /// The number is not allowed.
    #[error(
        "{message}: the number {number} of {field} is not between 1 and {highest}",
        highest = MessageType::HIGHEST_NUMBER
    )]
    Number {
        /// The message.
        message: String,
        /// The field.
        field: String,
        /// The number.
        number: u16,
    },
}

/// A kind with a protobuf form of its own. Clones are cheap.
///
/// ```
/// use kubewright_protobuf::{
///     DeclaredType, MessageField, MessageType, Transcoder, ValueType,
/// };
///
/// let field = |json: &str, number, value| MessageField {
///     json: json.into(),
///     number,
///     value,
///     required: false,
/// };
/// let planet = MessageType {
///     name: "Planet".into(),
///     fields: vec![
///         field("metadata", 1, ValueType::ObjectMeta),
///         field("moons", 2, ValueType::Int32),
///     ],
/// };
/// let planets = DeclaredType::new("sky.example.com/v1", "Planet", "PlanetList", &planet)?;
/// let mars = br#"{"kind":"Planet","apiVersion":"sky.example.com/v1","metadata":{"name":"mars"},"moons":2}"#;
/// let mut bytes = Vec::new();
/// Transcoder::new().object(planets.object(), mars, &mut bytes)?;
/// assert_eq!(planets.decode(&bytes)?.value["moons"], 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeclaredType {
    object: ObjectType,
    list: ListType,
}

/// The number of the items of a list.
const ITEMS: u16 = 2;

impl MessageType {
    /// The highest number of a field. Numbers up to 15 take one byte, those up to 2047 two.
    pub const HIGHEST_NUMBER: u16 = 2047;

    /// Returns the message of a list of objects with this message.
    pub fn list(&self, name: impl Into<String>) -> Self {
        let items = ValueType::List(Box::new(ValueType::Message(self.clone())));
        let fields = [
            ("metadata", 1, ValueType::ListMeta),
            ("items", ITEMS, items),
        ];
        Self {
            name: name.into(),
            fields: fields
                .map(|(json, number, value)| MessageField {
                    json: json.to_owned(),
                    number,
                    value,
                    required: true,
                })
                .into(),
        }
    }

    fn check(&self) -> Result<(), DeclareError> {
        let message = || self.name.clone();
        let mut names = HashSet::new();
        for (i, field) in self.fields.iter().enumerate() {
            let number = field.number;
            if number == 0 || number > Self::HIGHEST_NUMBER {
                return Err(DeclareError::Number {
                    message: message(),
                    field: field.json.clone(),
                    number,
                });
            }
            if !names.insert(&field.json) {
                return Err(DeclareError::SameName {
                    message: message(),
                    field: field.json.clone(),
                });
            }
            if let Some(other) = self.fields[..i].iter().find(|f| f.number == number) {
                return Err(DeclareError::SameNumber {
                    message: message(),
                    number,
                    first: other.json.clone(),
                    second: field.json.clone(),
                });
            }
            let mut value = &field.value;
            while let ValueType::List(inner) | ValueType::Map(inner) = value {
                value = inner;
            }
            if let ValueType::Message(inner) = value {
                inner.check()?;
            }
        }
        Ok(())
    }
}

impl DeclaredType {
    /// Declares a kind and its list. `message` has all fields but `apiVersion` and `kind`.
    ///
    /// A message is kept for the life of the program. Declare those of Rust types, not those of input.
    ///
    /// # Errors
    ///
    /// Fails if names or numbers of fields are not unique, or if a number is not allowed.
    pub fn new(
        api_version: &str,
        kind: &str,
        list_kind: &str,
        message: &MessageType,
    ) -> Result<Self, DeclareError> {
        message.check()?;
        let layout = declare(message);
        let list = declare(&message.list(list_kind));
        let list = ObjectType::declared(list, api_version, list_kind);
        Ok(Self {
            object: ObjectType::declared(layout, api_version, kind),
            list: ListType::declared(list, ITEMS.into(), layout),
        })
    }

    /// Returns the type of objects.
    pub fn object(&self) -> &ObjectType {
        &self.object
    }

    /// Returns the type of lists.
    pub fn list(&self) -> &ListType {
        &self.list
    }

    /// Reads an object in its envelope. An envelope without a kind is taken for this one.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not an object of the kind.
    pub fn decode(&self, bytes: &[u8]) -> Result<Decoded, DecodeError> {
        let own = (self.object.api_version(), self.object.kind());
        decode_kind(bytes, own, |api_version, kind| {
            match (api_version, kind) == own {
                true => Lookup::Found(self.object.layout()),
                false => Lookup::NoKind,
            }
        })
    }
}

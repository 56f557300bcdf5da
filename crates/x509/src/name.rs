//! [`Name`]: a distinguished name.

use crate::{Error, der, der::Reader, encode, oid, text};

/// The attributes that issued certificates keep, in the order in which they are written.
const WRITTEN: [&[u8]; 9] = [
    oid::COUNTRY,
    oid::PROVINCE,
    oid::LOCALITY,
    oid::STREET_ADDRESS,
    oid::POSTAL_CODE,
    oid::ORGANIZATION,
    oid::ORGANIZATIONAL_UNIT,
    oid::COMMON_NAME,
    oid::SERIAL_NUMBER,
];

/// A distinguished name: the subject or the issuer of a certificate.
///
/// ```
/// use kubewright_x509::Name;
///
/// let node = Name::new("system:node:n1", ["system:nodes"]);
/// assert_eq!(node.common_name(), "system:node:n1");
/// assert_eq!(node.organizations().collect::<Vec<_>>(), ["system:nodes"]);
/// assert_eq!(node.to_string(), "CN=system:node:n1,O=system:nodes");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    attributes: Vec<Attribute>,
}

/// An attribute of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The type, such as `2.5.4.3` for the common name.
    pub oid: String,
    /// The value, if it is text.
    pub value: Option<String>,
    /// The type, encoded.
    content: Vec<u8>,
}

impl Name {
    /// Returns a name of a common name and organizations, as users and their groups have.
    pub fn new<O: Into<String>>(
        common_name: impl Into<String>,
        organizations: impl IntoIterator<Item = O>,
    ) -> Self {
        let attribute = |content: &[u8], value: String| Attribute {
            oid: oid::dotted(content).unwrap_or_default(),
            value: Some(value),
            content: content.to_vec(),
        };
        let organizations = organizations.into_iter();
        let mut attributes: Vec<Attribute> = organizations
            .map(|organization| attribute(oid::ORGANIZATION, organization.into()))
            .collect();
        attributes.push(attribute(oid::COMMON_NAME, common_name.into()));
        Self { attributes }
    }

    /// Returns the common name: the last one if there are several, and an empty text if there is none.
    pub fn common_name(&self) -> &str {
        self.values(oid::COMMON_NAME).last().unwrap_or_default()
    }

    /// Returns the organizations, in order.
    pub fn organizations(&self) -> impl Iterator<Item = &str> {
        self.values(oid::ORGANIZATION)
    }

    /// Returns all attributes, in order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn values<'a>(&'a self, content: &'a [u8]) -> impl Iterator<Item = &'a str> {
        let of_type = move |attribute: &&Attribute| attribute.content == content;
        let attributes = self.attributes.iter().filter(of_type);
        attributes.filter_map(|attribute| attribute.value.as_deref())
    }

    /// Reads a name: a sequence of sets of attributes.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut sets = reader.sequence("RDNSequence")?;
        let mut attributes = Vec::new();
        while !sets.is_empty() {
            let mut set = sets.item(der::SET)?;
            while !set.is_empty() {
                let mut attribute = set.item(der::SEQUENCE)?;
                let content = attribute.object_identifier()?;
                attributes.push(Attribute {
                    oid: oid::dotted(content)?,
                    value: text::decode(&attribute.any()?)?,
                    content: content.to_vec(),
                });
            }
        }
        Ok(Self { attributes })
    }

    /// Encodes the name as Go's `pkix.Name` does: the usual attributes, in a fixed order, values of one type together.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut sets = Vec::new();
        for content in WRITTEN {
            let single = matches!(content, oid::COMMON_NAME | oid::SERIAL_NUMBER);
            let values: Vec<&str> = match single {
                true => {
                    let last = self.values(content).last();
                    last.filter(|value| !value.is_empty()).into_iter().collect()
                }
                false => self.values(content).collect(),
            };
            if values.is_empty() {
                continue;
            }
            let attribute = |value: &&str| {
                encode::sequence(&[&encode::object_identifier(content), &text::encode(value)])
            };
            sets.push(encode::set(values.iter().map(attribute).collect()));
        }
        let sets: Vec<&[u8]> = sets.iter().map(Vec::as_slice).collect();
        encode::sequence(&sets)
    }
}

/// Prints the common name and the organizations, for messages.
impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CN={}", self.common_name())?;
        self.organizations().try_for_each(|o| write!(f, ",O={o}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(content: &[u8], value: &str) -> Vec<u8> {
        encode::sequence(&[&encode::object_identifier(content), &text::encode(value)])
    }

    #[test]
    fn a_name_is_written_in_the_order_of_go() {
        let name = Name::new("n", ["b", "a"]);
        let encoded = name.encode();
        let organizations = encode::set(vec![
            attribute(oid::ORGANIZATION, "a"),
            attribute(oid::ORGANIZATION, "b"),
        ]);
        let common_name = encode::set(vec![attribute(oid::COMMON_NAME, "n")]);
        assert_eq!(encoded, encode::sequence(&[&organizations, &common_name]));
        let read = Name::read(&mut Reader::new(&encoded)).unwrap();
        assert_eq!(read.organizations().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(Name::default().encode(), [0x30, 0]);
    }

    #[test]
    fn the_last_common_name_counts() {
        let sets: Vec<Vec<u8>> = ["a", "b"]
            .map(|value| encode::set(vec![attribute(oid::COMMON_NAME, value)]))
            .into();
        let encoded = encode::sequence(&[&sets[0], &sets[1]]);
        let name = Name::read(&mut Reader::new(&encoded)).unwrap();
        assert_eq!(name.common_name(), "b");
        assert_eq!(name.attributes().len(), 2);
    }

    #[test]
    fn values_that_are_not_text_are_kept_as_attributes() {
        let attribute = encode::sequence(&[
            &encode::object_identifier(oid::COMMON_NAME),
            &encode::octet_string(b"x"),
        ]);
        let encoded = encode::sequence(&[&encode::set(vec![attribute])]);
        let name = Name::read(&mut Reader::new(&encoded)).unwrap();
        assert_eq!(name.common_name(), "");
        assert_eq!(name.attributes()[0].oid, "2.5.4.3");
        assert_eq!(name.attributes()[0].value, None);
    }
}

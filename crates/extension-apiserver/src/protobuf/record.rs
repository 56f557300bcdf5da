//! [`Record`]: the numbers in a `.proto` file.
//!
//! It reads what `print` writes: messages that are not nested, one field a line.

use std::collections::{BTreeMap, BTreeSet};

/// The numbers in a `.proto` file.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) package: Option<String>,
    pub(super) messages: BTreeMap<String, Recorded>,
}

/// The numbers of a message.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// By JSON name.
    pub(super) fields: BTreeMap<String, RecordedField>,
    pub(super) reserved: BTreeSet<u16>,
}

/// A field with its type, such as `optional string`.
#[derive(Debug)]
pub(super) struct RecordedField {
    pub(super) number: u16,
    pub(super) ty: String,
}

impl Record {
    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// Fails with the line that is not understood.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut record = Self::default();
        let mut open: Option<String> = None;
        for (line, n) in text.lines().zip(1..) {
            let line = line.trim();
            let wrong = || format!("line {n} of the .proto file is not understood: {line}");
            if line.is_empty() || line.starts_with("//") {
                continue;
            }
            if line == "}" {
                open.take().ok_or_else(wrong)?;
                continue;
            }
            if let Some(name) = line.strip_prefix("message ") {
                let name = name.strip_suffix('{').ok_or_else(wrong)?.trim().to_owned();
                if open.is_some() || record.messages.contains_key(&name) {
                    return Err(wrong());
                }
                record.messages.insert(name.clone(), Recorded::default());
                open = Some(name);
                continue;
            }
            let statement = line.strip_suffix(';').ok_or_else(wrong)?;
            let message = open.as_ref().and_then(|name| record.messages.get_mut(name));
            match message {
                Some(message) => message.read(statement).ok_or_else(wrong)?,
                None => match statement.split_once(' ') {
                    Some(("package", name)) => record.package = Some(name.trim().to_owned()),
                    Some(("syntax" | "import" | "option", _)) => {}
                    _ => return Err(wrong()),
                },
            }
        }
        match open {
            None => Ok(record),
            Some(name) => Err(format!("the message {name} of the .proto file has no end")),
        }
    }
}

impl Recorded {
    /// Reads a field, or reserved numbers.
    fn read(&mut self, statement: &str) -> Option<()> {
        if let Some(numbers) = statement.strip_prefix("reserved ") {
            for number in numbers.split(',') {
                self.reserved.insert(number.trim().parse().ok()?);
            }
            return Some(());
        }
        let (declared, number) = statement.split_once('=')?;
        let (ty, name) = declared.trim().rsplit_once(' ')?;
        let (number, options) = match number.split_once('[') {
            Some((number, options)) => (number, Some(options)),
            None => (number, None),
        };
        let json = match options {
            Some(options) => {
                let name = options.trim().strip_suffix(']')?.trim();
                let name = name.strip_prefix("json_name")?.trim().strip_prefix('=')?;
                serde_json::from_str(name.trim()).ok()?
            }
            None => name.to_owned(),
        };
        let field = RecordedField {
            number: number.trim().parse().ok()?,
            ty: ty.trim().to_owned(),
        };
        match self.fields.insert(json, field) {
            None => Some(()),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_with_their_types() {
        let text = r#"
            syntax = "proto2";
            package sky.example.com.v1;
            // A comment; of no = account.
            message Planet {
              reserved 4, 7;
              optional string colour = 1;
              map<string, double> gases = 2;
              repeated PlanetMoons dark_side = 3 [json_name = "dark-side"];
            }
        "#;
        let record = Record::read(text).unwrap();
        assert_eq!(record.package.as_deref(), Some("sky.example.com.v1"));
        let planet = &record.messages["Planet"];
        assert_eq!(planet.reserved, BTreeSet::from([4, 7]));
        let fields = planet.fields.iter();
        let fields: Vec<_> = fields
            .map(|(json, f)| (&**json, &*f.ty, f.number))
            .collect();
        let expected = [
            ("colour", "optional string", 1),
            ("dark-side", "repeated PlanetMoons", 3),
            ("gases", "map<string, double>", 2),
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn other_texts_name_the_line() {
        for (text, line) in [
            ("message A {\n  optional string a;\n}", 2),
            (
                "message A {\n  optional string a = 1;\n  optional string a = 2;\n}",
                3,
            ),
            ("message A {\n  oneof b {\n", 2),
            ("message A {\n}\nmessage A {\n}", 3),
            ("message A {\n  reserved x;\n}", 2),
            ("}", 1),
            ("service A;", 1),
            ("optional string a = 99999;", 1),
        ] {
            let error = Record::read(text).unwrap_err();
            assert!(
                error.starts_with(&format!("line {line} ")),
                "{text}: {error}"
            );
        }
        assert!(Record::read("message A {").is_err());
        assert!(Record::read("").unwrap().messages.is_empty());
    }
}

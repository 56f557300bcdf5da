//! Applies serde's `rename_all`.

/// The casing of names in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Casing {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Casing {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "lowercase" => Casing::Lower,
            "UPPERCASE" => Casing::Upper,
            "PascalCase" => Casing::Pascal,
            "camelCase" => Casing::Camel,
            "snake_case" => Casing::Snake,
            "SCREAMING_SNAKE_CASE" => Casing::ScreamingSnake,
            "kebab-case" => Casing::Kebab,
            "SCREAMING-KEBAB-CASE" => Casing::ScreamingKebab,
            _ => return None,
        })
    }

    /// Returns the JSON name of a field, given in snake case.
    pub(crate) fn field(self, name: &str) -> String {
        match self {
            Casing::Lower | Casing::Snake => name.to_owned(),
            Casing::Upper | Casing::ScreamingSnake => name.to_uppercase(),
            Casing::Pascal => name.split('_').map(capitalised).collect(),
            Casing::Camel => first_lower(&Casing::Pascal.field(name)),
            Casing::Kebab => name.replace('_', "-"),
            Casing::ScreamingKebab => name.to_uppercase().replace('_', "-"),
        }
    }

    /// Returns the JSON name of a variant, given in Pascal case.
    pub(crate) fn variant(self, name: &str) -> String {
        match self {
            Casing::Pascal => name.to_owned(),
            Casing::Lower => name.to_lowercase(),
            Casing::Upper => name.to_uppercase(),
            Casing::Camel => first_lower(name),
            Casing::Snake => snake(name),
            Casing::ScreamingSnake => snake(name).to_uppercase(),
            Casing::Kebab => snake(name).replace('_', "-"),
            Casing::ScreamingKebab => snake(name).to_uppercase().replace('_', "-"),
        }
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn first_lower(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|c| c.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for (i, letter) in name.char_indices() {
        if i > 0 && letter.is_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_variants_are_named_as_serde_names_them() {
        assert_eq!(Casing::Camel.field("last_seen_at"), "lastSeenAt");
        assert_eq!(Casing::Pascal.field("last_seen"), "LastSeen");
        assert_eq!(Casing::Kebab.field("last_seen"), "last-seen");
        assert_eq!(Casing::Camel.variant("ReadOnly"), "readOnly");
        assert_eq!(Casing::Snake.variant("ReadOnly"), "read_only");
        assert_eq!(Casing::ScreamingKebab.variant("ReadOnly"), "READ-ONLY");
        assert_eq!(Casing::parse("Camel"), None);
    }
}

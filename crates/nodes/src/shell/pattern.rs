//! Patterns with `*`, `?` and `[…]`. A backslash escapes the next character.

/// Reports whether a text matches a pattern.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // The last star, and the length of its match.
    let mut star = None;
    loop {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
            continue;
        }
        if t == text.len() && p == pattern.len() {
            return true;
        }
        let one = match p < pattern.len() && t < text.len() {
            true => single(&pattern[p..], text[t]),
            false => None,
        };
        match (one, star) {
            (Some(length), _) => {
                p += length;
                t += 1;
            }
            (None, Some((at, from))) if from < text.len() => {
                star = Some((at, from + 1));
                p = at + 1;
                t = from + 1;
            }
            _ => return false,
        }
    }
}

/// Returns the length of the first element of a pattern if it matches a character.
fn single(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['\\', escaped, ..] => (*escaped == c).then_some(2),
        ['[', rest @ ..] => {
            let negated = matches!(rest.first(), Some('!' | '^'));
            let start = usize::from(negated);
            let end = rest.iter().skip(start + 1).position(|c| *c == ']');
            let Some(end) = end.map(|end| end + start + 1) else {
                return (c == '[').then_some(1);
            };
            let set = &rest[start..end];
            let mut found = false;
            let mut i = 0;
            while i < set.len() {
                if i + 2 < set.len() && set[i + 1] == '-' {
                    found |= (set[i]..=set[i + 2]).contains(&c);
                    i += 3;
                } else {
                    found |= set[i] == c;
                    i += 1;
                }
            }
            (found != negated).then_some(end + 2)
        }
        [first, ..] => (*first == c).then_some(1),
        [] => None,
    }
}

/// Reports whether a text contains pattern characters.
pub(super) fn is_pattern(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '*' | '?' | '[' => return true,
            _ => {}
        }
    }
    false
}

/// Returns the pattern that matches a text literally.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match() {
        for (pattern, text, expected) in [
            ("*.txt", "a.txt", true),
            ("*.txt", "a.txt.gz", false),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a*b*c", "axxbyyc", true),
            ("", "", true),
            ("*", "", true),
            ("[", "[", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert!(!matches(&"*a".repeat(100), &"a".repeat(99)));
        assert!(matches(&escaped("a*[b]"), "a*[b]"));
        assert!(!is_pattern(&escaped("a*[b]")));
    }
}

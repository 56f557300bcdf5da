//! Query parameters.

/// Returns the values of a parameter.
pub(crate) fn all<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    query.split('&').filter_map(move |pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(key) == name).then(|| decode(value))
    })
}

/// Returns whether a parameter is set: to anything but `0` and `false`, as in the real server.
pub(crate) fn flag(query: &str, name: &str) -> bool {
    all(query, name)
        .next()
        .is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
}

/// Decodes `+` and percent-encoding. Invalid text is returned unchanged.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = after;
                }
                _ => bytes.push(b'%'),
            },
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = "command=ls&command=-l+%2Ftmp%zz&tty=0&stdin=&stdout=true&stderr=False";
        let commands: Vec<String> = all(query, "command").collect();
        assert_eq!(commands, ["ls", "-l /tmp%zz"]);
        assert!(flag(query, "stdin") && flag(query, "stdout"));
        assert!(!flag(query, "tty") && !flag(query, "stderr") && !flag(query, "other"));
    }
}

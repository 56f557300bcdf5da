//! Times of certificates, in seconds since 1970.

use kubewright_machinery::calendar::{Date, SECONDS_PER_DAY};

use crate::{
    Error,
    der::{Element, Reader, UNIVERSAL},
    encode,
};

const UTC_TIME: u32 = 23;
const GENERALIZED_TIME: u32 = 24;

/// The first and the last second that have a four-digit year.
const RANGE: std::ops::RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;

/// Reads a time.
pub(crate) fn read(reader: &mut Reader<'_>) -> Result<i64, Error> {
    let unsupported = || Error::new("x509: unsupported time format");
    let element = reader.any().map_err(|_| unsupported())?;
    let Element { class, tag, .. } = element;
    match (class, tag) {
        (UNIVERSAL, UTC_TIME) => {
            parse(element.content, 2).ok_or_else(|| Error::new("x509: malformed UTCTime"))
        }
        (UNIVERSAL, GENERALIZED_TIME) => {
            parse(element.content, 4).ok_or_else(|| Error::new("x509: malformed GeneralizedTime"))
        }
        _ => Err(unsupported()),
    }
}

/// Encodes a time. One outside of the years 0 to 9999 is replaced by the nearest.
pub(crate) fn encode(seconds: i64) -> Vec<u8> {
    let seconds = seconds.clamp(*RANGE.start(), *RANGE.end());
    let date = Date::from_days_since_1970(seconds.div_euclid(SECONDS_PER_DAY));
    let time = seconds.rem_euclid(SECONDS_PER_DAY);
    let rest = format!(
        "{:02}{:02}{:02}{:02}{:02}Z",
        date.month,
        date.day,
        time / 3600,
        time / 60 % 60,
        time % 60
    );
    match date.year {
        year @ 1950..2050 => utc(format!("{:02}{rest}", year % 100)),
        year => encode::element(
            GENERALIZED_TIME as u8,
            format!("{year:04}{rest}").as_bytes(),
        ),
    }
}

fn utc(text: String) -> Vec<u8> {
    encode::element(UTC_TIME as u8, text.as_bytes())
}

fn parse(text: &[u8], year_digits: usize) -> Option<i64> {
    let digits = text.strip_suffix(b"Z")?;
    if digits.len() != year_digits + 10 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |from: usize, count: usize| -> Option<i64> {
        let digits = digits.get(from..from + count)?;
        Some(
            digits
                .iter()
                .fold(0, |n, digit| n * 10 + i64::from(digit - b'0')),
        )
    };
    let year = match (year_digits, number(0, year_digits)?) {
        (2, year @ 50..) => 1900 + year,
        (2, year) => 2000 + year,
        (_, year) => year,
    };
    let at = |i: usize| number(year_digits + 2 * i, 2);
    let date = Date {
        year,
        month: at(0)?,
        day: at(1)?,
    };
    let (hour, minute, second) = (at(2)?, at(3)?, at(4)?);
    if !date.is_valid() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(date.days_since_1970() * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        for seconds in [
            0,
            1_700_000_000,
            -1,
            2_524_607_999,
            2_524_608_000,
            *RANGE.end(),
        ] {
            let encoded = encode(seconds);
            assert_eq!(read(&mut Reader::new(&encoded)), Ok(seconds));
        }
        assert_eq!(encode(2_524_608_000)[2..], *b"20500101000000Z");
        assert_eq!(encode(2_524_607_999)[2..], *b"491231235959Z");
        assert_eq!(encode(i64::MAX), encode(*RANGE.end()));
    }

    #[test]
    fn days_that_do_not_exist_are_errors() {
        for text in [
            "230229000000Z",
            "231301000000Z",
            "230101240000Z",
            "2301010000Z",
            "x",
        ] {
            let encoded = utc(text.to_owned());
            let error = read(&mut Reader::new(&encoded)).unwrap_err();
            assert_eq!(error.to_string(), "x509: malformed UTCTime");
        }
    }
}

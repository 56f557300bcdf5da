use proptest::prelude::*;

use super::*;

fn q(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn quantities_print_in_their_canonical_form() {
    for (text, printed) in [
        ("0", "0"),
        ("-0", "0"),
        ("0.0Gi", "0"),
        ("1000m", "1"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("5.", "5."),
        ("1.5", "1500m"),
        ("100000", "100k"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1000Ki", "1000Ki"),
        ("1.1Ki", "1126400m"),
        ("0.0001Ki", "102400u"),
        ("1e3", "1e3"),
        ("1.5e3", "1500"),
        ("12e-12", "1e-9"),
        ("0.0000000001", "1n"),
        ("-0.0000000001", "-1n"),
        ("1.00000000001", "1000000001n"),
        (
            "123456789012345678901234567890",
            "123456789012345678901234567890",
        ),
        ("100Ei", "9223372036854775807"),
        ("-100Ei", "-9223372036854775807"),
        ("e0", "0"),
        ("-", "0"),
    ] {
        assert_eq!(q(text).to_string(), printed, "{text}");
    }
}

#[test]
fn a_text_that_looks_canonical_is_kept_and_letters_run_out_beyond_exa() {
    // Both are what Kubernetes does, like it or not.
    for (text, printed, canonical) in [
        ("+1", "+1", "1"),
        ("01", "01", "1"),
        ("1.500", "1.500", "1500m"),
        ("1E3", "1E3", "1e3"),
        ("1000E", "1", "1"),
    ] {
        assert_eq!(q(text).to_string(), printed, "{text}");
        assert_eq!(q(text).canonical(), canonical, "{text}");
        assert_eq!(
            (&q(text) + &Quantity::zero()).to_string(),
            canonical,
            "{text}"
        );
    }
}

#[test]
fn errors_of_invalid_quantities_say_why() {
    for text in ["", "1.2.3", "1x", "1 ", " 1", "--1x", "1Q", "1e1.5", "é"] {
        assert_eq!(Quantity::parse(text), Err(QuantityError::Format), "{text}");
    }
    for text in [
        "1K",
        "1e",
        "1mm",
        "1i",
        "1m5",
        "--1",
        "1e99999999999999999999",
    ] {
        assert_eq!(Quantity::parse(text), Err(QuantityError::Suffix), "{text}");
    }
    for text in ["Pi", "e-10", "+.e-20"] {
        assert_eq!(Quantity::parse(text), Err(QuantityError::Number), "{text}");
    }
    assert_eq!(
        QuantityError::Format.to_string(),
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    );
}

#[test]
fn values_are_rounded_away_from_zero_and_stop_at_the_ends() {
    for (text, value, milli) in [
        ("1", 1, 1000),
        ("1m", 1, 1),
        ("1n", 1, 1),
        ("-1n", -1, -1),
        ("1500m", 2, 1500),
        ("-1500m", -2, -1500),
        ("1Gi", 1_073_741_824, 1_073_741_824_000),
        ("9223372036854775807", i64::MAX, i64::MAX),
        ("1e30", i64::MAX, i64::MAX),
        ("-1e2000000000", i64::MIN, i64::MIN),
    ] {
        assert_eq!(
            (q(text).value(), q(text).milli_value()),
            (value, milli),
            "{text}"
        );
    }
}

#[test]
fn sums_keep_the_format_of_what_is_not_zero() {
    for (a, b, sum, difference) in [
        ("1", "500m", "1500m", "500m"),
        ("1Gi", "1Mi", "1025Mi", "1023Mi"),
        ("0", "1Ki", "1Ki", "-1Ki"),
        ("1Ki", "0", "1Ki", "1Ki"),
        ("1Mi", "1", "1048577", "1048575"),
        ("1e3", "1k", "2e3", "0"),
        (
            "9223372036854775807",
            "1",
            "9223372036854775808",
            "9223372036854775806",
        ),
    ] {
        assert_eq!((&q(a) + &q(b)).to_string(), sum, "{a}+{b}");
        assert_eq!((&q(a) - &q(b)).to_string(), difference, "{a}-{b}");
    }
    let mut total = q("1Gi");
    total += &q("1Gi");
    total -= &q("512Mi");
    assert_eq!(total.to_string(), "1536Mi");
    assert_eq!((-&total).sign(), -1);
    assert_eq!(total.as_f64(), 1_610_612_736.0);
    assert!(total.is_integer() && !q("1m").is_integer());
}

#[test]
fn json_numbers_and_null_are_read_too() {
    for (json, printed) in [
        ("\"1Gi\"", "1Gi"),
        ("1.5", "1500m"),
        ("\" 2 \"", "2"),
        ("null", "0"),
    ] {
        let quantity: Quantity = serde_json::from_str(json).unwrap();
        assert_eq!(
            serde_json::to_string(&quantity).unwrap(),
            format!("\"{printed}\"")
        );
    }
    let error = serde_json::from_str::<Quantity>("\"x\"").unwrap_err();
    assert!(error.to_string().starts_with("quantities must match"));
}

#[test]
fn enormous_quantities_cost_no_more_than_their_text() {
    let long = q(&format!("{}.{}", "9".repeat(500_000), "9".repeat(500_000)));
    assert!(long > q("1E"));
    // Rounded up to 10^500000, that is 100 times a power of 1000 which has no letter.
    assert_eq!(long.to_string(), "100");
    let huge = q("1e2147483647");
    assert!(huge > long && -&huge < long);
    assert_eq!(&huge + &q("1n"), huge);
    assert_eq!((&q("1Ki") + &huge).to_string().len(), 2);
    assert_eq!(q("1e-2147483648").to_string(), "1e-9");
}

fn quantities() -> impl Strategy<Value = String> {
    let suffix = prop::sample::select(vec![
        "", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "e-3", "E2", "e0",
    ]);
    ("[+-]?[0-9]{1,25}(\\.[0-9]{0,12})?", suffix).prop_map(|(number, suffix)| number + suffix)
}

/// Reports whether the quantity has more powers of 1000 or 1024 than there are suffixes, and so loses them in print.
fn beyond_letters(quantity: &Quantity) -> bool {
    quantity.format() != Format::DecimalExponent && quantity.as_f64().abs() >= 1e21
}

proptest! {
    #[test]
    fn printed_text_parses_to_the_same_value(text in quantities()) {
        let quantity = q(&text);
        prop_assume!(!beyond_letters(&quantity));
        prop_assert_eq!(&q(&quantity.to_string()), &quantity);
        let canonical = q(&quantity.canonical());
        prop_assert_eq!(&canonical, &quantity);
        prop_assert_eq!(canonical.canonical(), quantity.canonical());
    }

    #[test]
    fn order_is_total_and_agrees_with_subtraction(a in quantities(), b in quantities(), c in quantities()) {
        let (a, b, c) = (q(&a), q(&b), q(&c));
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.cmp(&b) as i32, (&a - &b).sign());
        let mut sorted = [&a, &b, &c];
        sorted.sort();
        prop_assert!(sorted[0] <= sorted[1] && sorted[1] <= sorted[2] && sorted[0] <= sorted[2]);
    }

    #[test]
    fn sums_commute_and_can_be_undone(a in quantities(), b in quantities()) {
        let (a, b) = (q(&a), q(&b));
        prop_assert_eq!(&a + &b, &b + &a);
        prop_assert_eq!(&(&a + &b) - &b, a);
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,40}") {
        if let Ok(quantity) = Quantity::parse(&text) {
            let _ = (quantity.to_string(), quantity.value(), quantity.as_f64());
        }
    }
}

//! Money as people write it, and the defaults.

use super::*;
use hob_kit::settings::SettingsCatalog;
use std::sync::Arc;

#[test]
fn money_is_read_exactly() {
    let read = [
        ("2.50", Some(2_500_000)),
        ("$0.000001", Some(1)),
        ("3", Some(3_000_000)),
        ("none", None),
    ];
    for (text, expected) in read {
        assert_eq!(parse_money(text), Ok(expected), "{text}");
    }
    for text in ["", "-1", "1.2345678", "1e3", "1,5", ".5", "99999999"] {
        assert!(parse_money(text).is_err(), "{text}");
    }
}

#[test]
fn money_is_shown_as_it_is_written() {
    let shown = [(2_500_000, "$2.50"), (1, "$0.000001"), (0, "$0.00")];
    for (micro, text) in shown {
        assert_eq!(format_dollars(micro), text);
    }
}

#[test]
fn the_defaults_are_those_of_the_machines() {
    let catalog = SettingsCatalog::new(&[KEYS]);
    assert_eq!(catalog.faults(), Vec::<String>::new());
    let settings = Settings::defaults(Arc::new(catalog));
    assert_eq!(limits(&settings), RunLimits::DEFAULT);
    assert_eq!(retry_policy(&settings), RetryPolicy::DEFAULT);
    assert_eq!(ceilings(&settings), SpendingCeilings::default());
}

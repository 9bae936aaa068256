//! Edits keep everything else that the user wrote.

use super::super::{SettingKey, SettingKind, SettingValue, Settings, SettingsCatalog};
use super::set;
use crate::host_environment::EnvVars;
use proptest::prelude::*;
use std::sync::Arc;

const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "log.level",
        SettingKind::Choice(&["info", "debug"]),
        "info",
        "How much is logged.",
    ),
    SettingKey::new(
        "gateway.ping_interval",
        SettingKind::Duration {
            min_ms: 1_000,
            max_ms: 3_600_000,
        },
        "30s",
        "Between two pings.",
    ),
    SettingKey::new(
        "gateway.max_connections",
        SettingKind::Integer {
            min: 1,
            max: 20_000,
        },
        "20000",
        "Bound.",
    ),
    SettingKey::new("listen.names", SettingKind::List, "", "Names."),
    SettingKey::new("listen.open", SettingKind::Bool, "false", "Open."),
    SettingKey::new("models.*.url", SettingKind::Text, "", "Where it is."),
];

fn debug() -> SettingValue {
    SettingValue::Text("debug".into())
}

#[test]
fn a_present_value_is_replaced_and_its_comment_stays() {
    let text = "# top\n[log]\nlevel = \"info\"  # how much\n\n# tail\n";
    let edited = set(text, "log.level", Some(&debug())).expect("edits");
    assert_eq!(
        edited,
        "# top\n[log]\nlevel = \"debug\"  # how much\n\n# tail\n"
    );
}

#[test]
fn an_absent_value_goes_below_the_comment_that_shows_its_default() {
    let text = SettingsCatalog::new(&[KEYS]).default_text();
    let edited = set(&text, "log.level", Some(&debug())).expect("edits");
    let expected = text.replace(
        "# level = \"info\"\n",
        "# level = \"info\"\nlevel = \"debug\"\n",
    );
    assert_ne!(text, expected);
    assert_eq!(edited, expected);
}

#[test]
fn a_comment_of_another_section_is_not_its_place() {
    let text = "[log]\n[gateway]\n# level = 1\n";
    let edited = set(text, "log.level", Some(&debug())).expect("edits");
    assert_eq!(edited, "[log]\nlevel = \"debug\"\n[gateway]\n# level = 1\n");
}

#[test]
fn a_header_inside_a_text_is_not_a_section() {
    let text = "[models.a]\nurl = \"\"\"\n[log]\n# level = 1\n\"\"\"\n";
    let edited = set(text, "log.level", Some(&debug())).expect("edits");
    let document: toml_edit::DocumentMut = edited.parse().expect("is TOML");
    assert_eq!(document["log"]["level"].as_str(), Some("debug"));
    assert_eq!(
        document["models"]["a"]["url"].as_str(),
        Some("[log]\n# level = 1\n")
    );
}

#[test]
fn an_empty_file_gets_its_section() {
    let edited = set("", "log.level", Some(&debug())).expect("edits");
    assert_eq!(edited, "[log]\nlevel = \"debug\"\n");
    let named = SettingValue::Text("http://x".into());
    let edited = set("", "models.home.url", Some(&named)).expect("edits");
    assert_eq!(edited, "[models.home]\nurl = \"http://x\"\n");
}

#[test]
fn unsetting_takes_only_its_own_lines() {
    let text = "[log]\n# why I chose this\nlevel = \"debug\" # mine\n# after\n";
    let edited = set(text, "log.level", None).expect("edits");
    assert_eq!(edited, "[log]\n# why I chose this\n# after\n");
    assert_eq!(set(&edited, "log.level", None).expect("edits"), edited);
}

#[test]
fn the_last_key_of_a_table_takes_its_header_along() {
    let gone = |text: &str| set(text, "models.mine.url", None).expect("edits");
    let before = "[log]\nlevel = \"info\"\n";
    let table = "[models.mine]\nurl = \"x\"\n";
    assert_eq!(gone(&format!("{before}\n{table}")), before);
    assert_eq!(gone(&format!("{table}\n{before}")), before);
    let noted = format!("{before}\n[models.mine]\n# a note\nurl = \"x\"\n");
    assert_eq!(gone(&noted), format!("{before}\n[models.mine]\n# a note\n"));
    let another = format!("{table}kind = \"openai\"\n");
    assert_eq!(gone(&another), "[models.mine]\nkind = \"openai\"\n");
}

#[test]
fn unsetting_reaches_dotted_and_inline_tables_and_long_arrays() {
    assert_eq!(
        set("log.level = \"debug\"\n", "log.level", None).expect("edits"),
        ""
    );
    let inline = set("log = { level = \"debug\", x = 1 }\n", "log.level", None).expect("edits");
    assert!(
        !inline.contains("level") && inline.contains("x = 1"),
        "{inline}"
    );
    let array = set(
        "[listen]\nnames = [\n  \"a\",\n]\nopen = true\n",
        "listen.names",
        None,
    );
    assert_eq!(array.expect("edits"), "[listen]\nopen = true\n");
}

#[test]
fn a_text_that_is_not_toml_is_left_alone() {
    assert!(set("[log\n", "log.level", Some(&debug())).is_err());
    assert!(set("log = 1\n", "log.level", Some(&debug())).is_err());
}

fn any_setting() -> impl Strategy<Value = (&'static str, SettingValue)> {
    let word = "[a-z][a-z0-9 \"\\\\#=\\[]{0,12}";
    prop_oneof![
        any::<bool>().prop_map(|open| ("listen.open", SettingValue::Bool(open))),
        (1..=20_000_u64).prop_map(|n| ("gateway.max_connections", SettingValue::Integer(n))),
        (1_000..=3_600_000_u64)
            .prop_map(|ms| ("gateway.ping_interval", SettingValue::DurationMs(ms))),
        Just(("log.level", debug())),
        word.prop_map(|url| ("models.\"a b\".url", SettingValue::Text(url))),
        proptest::collection::vec("[a-z\"#]{1,6}", 0..4)
            .prop_map(|names| ("listen.names", SettingValue::List(names))),
    ]
}

proptest! {
    /// Whatever is set is read back, everything set before stays, and undoing all of it gives
    /// the defaults again.
    #[test]
    fn what_is_set_is_read_back(changes in proptest::collection::vec(any_setting(), 1..8)) {
        let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
        let env = EnvVars::default();
        let mut text = catalog.default_text();
        let comments = |text: &str| {
            text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
        };
        let before = comments(&text);
        let mut expected = std::collections::BTreeMap::new();
        for (path, value) in &changes {
            text = set(&text, path, Some(value)).expect("edits");
            expected.insert(*path, value.clone());
            let settings = Settings::load(&catalog, "config.toml", &text, &env).expect("loads");
            for (path, value) in &expected {
                prop_assert_eq!(&settings.entry(path).expect("is set").value, value);
            }
        }
        prop_assert_eq!(comments(&text), before);
        for path in expected.keys() {
            text = set(&text, path, None).expect("edits");
        }
        let settings = Settings::load(&catalog, "config.toml", &text, &env).expect("loads");
        let defaults = Settings::defaults(Arc::clone(&catalog));
        prop_assert!(settings.entries().eq(defaults.entries()));
    }
}

#[test]
fn a_new_table_comes_after_the_comments_of_the_last_one() {
    let text = "[log]\n# How much.\n# level = \"info\"\n";
    let url = SettingValue::Text("http://x".to_owned());
    let edited = set(text, "models.lab.url", Some(&url)).expect("edits");
    assert_eq!(
        edited,
        format!("{text}\n[models.lab]\nurl = \"http://x\"\n")
    );
    let kind = SettingValue::Text("openai".to_owned());
    let both = set(&edited, "models.lab.kind", Some(&kind)).expect("edits");
    assert_eq!(both, format!("{edited}kind = \"openai\"\n"));
}

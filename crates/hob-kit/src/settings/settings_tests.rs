//! Reading settings: origins, lines, suggestions.

use super::*;

const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "listen.address",
        SettingKind::Text,
        "127.0.0.1:7717",
        "Where it listens.",
    )
    .alias("OTHER_LISTEN_ADDR"),
    SettingKey::new(
        "gateway.ping_interval",
        SettingKind::Duration {
            min_ms: 1_000,
            max_ms: 3_600_000,
        },
        "30s",
        "Between two pings.",
    )
    .live(),
    SettingKey::new(
        "gateway.max_connections",
        SettingKind::Integer {
            min: 1,
            max: 20_000,
        },
        "20000",
        "Bound.",
    ),
    SettingKey::new(
        "log.level",
        SettingKind::Choice(&["info", "debug"]),
        "info",
        "How much.",
    )
    .live(),
    SettingKey::new("log.topics", SettingKind::List, "a,b", "Which."),
    SettingKey::new("log.colour", SettingKind::Bool, "true", "Whether."),
    SettingKey::new("models.*.url", SettingKind::Text, "", "Where it is.").not_over_wire(),
];

fn catalog() -> Arc<SettingsCatalog> {
    Arc::new(SettingsCatalog::new(&[KEYS]))
}

fn load(text: &str) -> Result<Settings, ConfigProblems> {
    Settings::load(&catalog(), "config.toml", text, &EnvVars::default())
}

fn complaint(text: &str) -> String {
    load(text).expect_err("is refused").to_string()
}

#[test]
fn the_declarations_are_sound() {
    assert_eq!(catalog().faults(), Vec::<String>::new());
    let broken: &[SettingKey] = &[
        SettingKey::new("a.b", SettingKind::Bool, "maybe", "Doc."),
        SettingKey::new("a.b.c", SettingKind::Bool, "true", ""),
        SettingKey::new("a.b_c", SettingKind::Bool, "true", "Doc."),
    ];
    let faults = SettingsCatalog::new(&[broken]).faults();
    assert_eq!(faults.len(), 4, "{faults:?}");
}

#[test]
fn an_empty_file_means_the_defaults() {
    let settings = load("").expect("loads");
    assert_eq!(settings.text("listen.address"), "127.0.0.1:7717");
    assert_eq!(settings.duration_ms("gateway.ping_interval"), 30_000);
    assert_eq!(settings.u64("gateway.max_connections"), 20_000);
    assert_eq!(settings.list("log.topics"), ["a", "b"]);
    assert!(settings.bool("log.colour"));
    assert!(
        settings
            .entries()
            .all(|(_, entry)| entry.origin == SettingSource::Default)
    );
}

#[test]
fn the_default_text_changes_nothing_and_shows_every_key() {
    let text = catalog().default_text();
    let settings = load(&text).expect("loads");
    assert!(
        settings
            .entries()
            .all(|(_, entry)| entry.origin == SettingSource::Default)
    );
    // Every key, taken out of its comment, is accepted.
    let live: String = text
        .lines()
        .map(|line| {
            let bare = line.strip_prefix("# ").unwrap_or(line);
            let is_setting = bare
                .split_once(" = ")
                .is_some_and(|(name, _)| !name.contains(' '));
            if is_setting || bare.starts_with('[') {
                bare
            } else {
                line
            }
            .to_owned()
                + "\n"
        })
        .collect();
    let settings = load(&live).expect("loads");
    assert!(
        settings
            .entries()
            .all(|(_, entry)| entry.origin == SettingSource::File),
        "{live}"
    );
    assert_eq!(settings.names("models.*.url"), ["NAME"]);
}

#[test]
fn the_file_beats_the_default_and_the_environment_beats_the_file() {
    let text = "[gateway]\nping_interval = \"10s\"\n[log]\nlevel = \"debug\"\n";
    let env = EnvVars::from_pairs([
        ("HOB_GATEWAY_PING_INTERVAL", "5s"),
        ("OTHER_LISTEN_ADDR", "127.0.0.1:0"),
        ("HOB_LOG_TOPICS", "x, y"),
    ]);
    let settings = Settings::load(&catalog(), "config.toml", text, &env).expect("loads");
    assert_eq!(settings.duration_ms("gateway.ping_interval"), 5_000);
    assert_eq!(settings.text("log.level"), "debug");
    assert_eq!(settings.text("listen.address"), "127.0.0.1:0");
    assert_eq!(settings.list("log.topics"), ["x", "y"]);
    let origin = |path| settings.entry(path).expect("is set").origin;
    assert_eq!(origin("gateway.ping_interval"), SettingSource::Env);
    assert_eq!(origin("log.level"), SettingSource::File);
    assert_eq!(origin("log.colour"), SettingSource::Default);
}

#[test]
fn our_own_variable_beats_the_alias() {
    let env = EnvVars::from_pairs([
        ("OTHER_LISTEN_ADDR", "127.0.0.1:1"),
        ("HOB_LISTEN_ADDRESS", "127.0.0.1:2"),
    ]);
    let settings = Settings::load(&catalog(), "config.toml", "", &env).expect("loads");
    assert_eq!(settings.text("listen.address"), "127.0.0.1:2");
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_nearest_one() {
    assert_eq!(
        complaint("# comment\n\n[gateway]\npin_interval = \"10s\"\n"),
        "config.toml, line 4: there is no setting 'gateway.pin_interval'; did you mean 'gateway.ping_interval'?"
    );
    assert_eq!(
        complaint("[gatewey]\nping_interval = \"10s\"\n"),
        "config.toml, line 1: there is no setting 'gatewey'; did you mean 'gateway.ping_interval'?"
    );
    assert_eq!(
        complaint("ping_interval = \"10s\"\n"),
        "config.toml, line 1: there is no setting 'ping_interval'; did you mean 'gateway.ping_interval'?"
    );
    assert_eq!(
        complaint("[zzz]\nqqq = 1\n"),
        "config.toml, line 1: there is no setting 'zzz'; 'hob config show' lists them all"
    );
}

#[test]
fn lines_are_right_behind_long_values_dotted_keys_and_inline_tables() {
    let line = |text: &str| load(text).expect_err("is refused").problems[0].line;
    assert_eq!(
        line("[log]\ntopics = [\n \"a\",\n]\nlevl = \"info\"\n"),
        Some(5)
    );
    assert_eq!(line("\n\nlog.levl = \"info\"\n"), Some(3));
    assert_eq!(line("\nlog = { levl = \"info\" }\n"), Some(2));
    assert_eq!(line("[log]\r\n\r\nlevl = 1\r\n"), Some(3));
    assert_eq!(
        line("[log]\nlevel = \"info\"\n[[log.levl]]\na = 1\n"),
        Some(3)
    );
}

#[test]
fn every_problem_is_told_in_the_order_of_the_file() {
    let text = "[log]\nlevel = \"loud\"\ncolour = \"yes\"\n[gateway]\nmax_connections = 0\n";
    assert_eq!(
        complaint(text),
        "config.toml, line 2: log.level: it takes one of \"info\", \"debug\", not \"loud\"\n\
         config.toml, line 3: log.colour: it takes true or false, not \"yes\"\n\
         config.toml, line 5: gateway.max_connections: it takes a whole number from 1 to 20000, not 0"
    );
}

#[test]
fn wrong_types_and_bounds_are_refused() {
    for (text, part) in [
        (
            "[gateway]\nping_interval = 30\n",
            "a duration from \"1s\" to \"1h\", not 30",
        ),
        ("[gateway]\nping_interval = \"2h\"\n", "not \"2h\""),
        ("[gateway]\nmax_connections = -1\n", "not -1"),
        ("[gateway]\nmax_connections = 1.5\n", "not 1.5"),
        ("[log]\ntopics = [1]\n", "a list of texts, not [1]"),
        ("[log.level]\na = 1\n", "not a table"),
        ("gateway = 3\n", "'gateway' is a table; write [gateway]"),
        (
            "[log]\nlevel = \"info\"\nlevel = \"debug\"\n",
            "line 3: this is not TOML: duplicate key",
        ),
        ("[log\n", "line 1: this is not TOML"),
    ] {
        let message = complaint(text);
        assert!(message.contains(part), "{text:?} gave {message}");
    }
}

#[test]
fn a_wrong_environment_variable_is_named() {
    let env = EnvVars::from_pairs([("HOB_LOG_LEVEL", "loud")]);
    let message = Settings::load(&catalog(), "config.toml", "", &env).expect_err("is refused");
    assert_eq!(
        message.to_string(),
        "HOB_LOG_LEVEL (which sets log.level): it takes one of \"info\", \"debug\", not \"loud\""
    );
}

#[test]
fn a_pattern_matches_bare_and_quoted_paths_alike() {
    let named = |path: &str| key::pattern_name("models.*.url", path);
    assert_eq!(named("models.home.url").as_deref(), Some("home"));
    assert_eq!(named("models.\"home\".url").as_deref(), Some("home"));
    assert_eq!(named("models.\"a.b\".url").as_deref(), Some("a.b"));
    assert_eq!(named("\"models\".home.url").as_deref(), Some("home"));
    let others = [
        "models.home",
        "models..url",
        "models.a.b.url",
        "model.home.url",
        "",
        "a b",
    ];
    for path in others {
        assert_eq!(named(path), None, "{path:?}");
    }
    assert_eq!(key::pattern_name("models.url", "models.url"), None);
}

#[test]
fn named_tables_are_found_by_their_pattern() {
    let settings = load("[models.home]\nurl = \"x\"\n[models.\"a.b\"]\nurl = \"y\"\n");
    let settings = settings.expect("loads");
    assert_eq!(settings.names("models.*.url"), ["a.b", "home"]);
    assert_eq!(settings.text("models.home.url"), "x");
    assert_eq!(settings.text("models.\"a.b\".url"), "y");
    let message = complaint("[models.home]\nurk = \"x\"\n");
    assert!(
        message.contains("did you mean 'models.home.url'?"),
        "{message}"
    );
}

#[test]
fn only_live_values_move_without_a_restart() {
    let old = load("").expect("loads");
    let new = load("[log]\nlevel = \"debug\"\ncolour = false\n").expect("loads");
    let effective = old.with_live_from(&new);
    assert_eq!(effective.text("log.level"), "debug");
    assert!(effective.bool("log.colour"));
}

#[test]
fn json_values_are_read_by_kind() {
    let kind = |path: &str| catalog().find(path).expect("is declared").kind;
    let read = |path: &str, json: serde_json::Value| kind(path).from_json(&json);
    assert_eq!(
        read("log.colour", true.into()),
        Ok(SettingValue::Bool(true))
    );
    assert_eq!(
        read("log.colour", "false".into()),
        Ok(SettingValue::Bool(false))
    );
    assert_eq!(
        read("gateway.ping_interval", "2m".into()),
        Ok(SettingValue::DurationMs(120_000))
    );
    assert_eq!(
        read("gateway.max_connections", 7.into()),
        Ok(SettingValue::Integer(7))
    );
    assert_eq!(
        read("log.topics", serde_json::json!(["a"])),
        Ok(SettingValue::List(vec!["a".into()]))
    );
    assert!(read("gateway.max_connections", serde_json::json!(-7)).is_err());
    assert!(read("log.level", serde_json::json!({})).is_err());
}

//! `config.*` through the bus, with a real file.

use crate::fixture::{Fixture, code};
use hob_daemon::RoomContext;
use hob_daemon::config::serve;
use hob_kit::host_environment::EnvVars;
use hob_kit::settings::{SettingKey, SettingKind, Settings, SettingsCatalog};
use hob_wire::ErrorCode;
use hob_wire::rooms::config::{
    ApplyStatus, ConfigGetParams, ConfigOrigin, ConfigSetParams, ConfigUndoParams, Get, Schema,
    Set, SettingKindSchema, Undo,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "log.level",
        SettingKind::Choice(&["info", "debug"]),
        "info",
        "How much.",
    )
    .live(),
    SettingKey::new(
        "gateway.max_connections",
        SettingKind::Integer { min: 1, max: 100 },
        "10",
        "Bound.",
    ),
    SettingKey::new("gateway.name", SettingKind::Text, "", "Its name.").live(),
    SettingKey::new("tools.shell", SettingKind::Text, "/bin/sh", "Which shell.").not_over_wire(),
];

struct House {
    fixture: Fixture,
    /// The settings in effect.
    settings: watch::Receiver<Arc<Settings>>,
    /// The level at each apply.
    applied: Arc<Mutex<Vec<String>>>,
}

fn house_with(env: EnvVars, text: &str) -> House {
    let fixture = Fixture::new();
    std::fs::write(fixture.home.config_file(), text).expect("writes");
    let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
    let settings = Settings::load_home(&catalog, &fixture.home, &env).expect("loads");
    let applied = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&applied);
    let apply = Box::new(move |settings: &Settings| {
        let level = settings.text("log.level").to_owned();
        seen.lock().expect("is sound").push(level);
    });
    let (effective, settings) = watch::channel(Arc::new(settings));
    let context = RoomContext {
        env,
        settings: settings.clone(),
        ..fixture.context.clone()
    };
    serve(&context, effective, apply).expect("is served");
    House {
        fixture,
        settings,
        applied,
    }
}

fn house(text: &str) -> House {
    house_with(EnvVars::default(), text)
}

impl House {
    async fn set(
        &self,
        key: &str,
        value: Value,
    ) -> Result<(Value, ApplyStatus), hob_wire::WireError> {
        let key = key.to_owned();
        let params = ConfigSetParams { key, value };
        let changed = self.fixture.caller().call::<Set>(&params).await?;
        Ok((changed.value, changed.applied))
    }

    async fn get(&self, key: &str) -> Value {
        let params = ConfigGetParams {
            key: Some(key.to_owned()),
        };
        let found = self.fixture.caller().call::<Get>(&params).await;
        found.expect("finds").settings[0].value.clone()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.fixture.home.config_file()).expect("is there")
    }
}

#[tokio::test]
async fn a_live_change_applies_at_once_and_is_announced() {
    let house = house("# mine\n[log]\nlevel = \"info\" # quiet\n");
    let mut watch = house.settings.clone();
    watch.mark_unchanged();
    let changed = house.set("log.level", json!("debug")).await.expect("sets");
    assert_eq!(changed, (json!("debug"), ApplyStatus::Now));
    assert_eq!(*house.applied.lock().expect("is sound"), ["debug"]);
    assert!(watch.has_changed().expect("lives"));
    assert_eq!(watch.borrow_and_update().text("log.level"), "debug");
    assert_eq!(house.text(), "# mine\n[log]\nlevel = \"debug\" # quiet\n");
    let (notice, payload) = house.fixture.heard("config.changed").await;
    assert_eq!(&*notice.source, "config");
    assert_eq!(
        payload,
        json!({"key": "log.level", "value": "debug", "applied": "now"})
    );
    house.fixture.close().await;
}

#[tokio::test]
async fn a_change_that_needs_a_restart_says_so_and_waits() {
    let house = house("");
    let changed = house.set("gateway.max_connections", json!(20)).await;
    assert_eq!(changed.expect("sets"), (json!(20), ApplyStatus::Restart));
    assert_eq!(house.get("gateway.max_connections").await, json!(20));
    let in_effect = house.settings.borrow().u64("gateway.max_connections");
    assert_eq!(in_effect, 10);
    // Going back to what is in effect needs no restart any more.
    let back = house.set("gateway.max_connections", Value::Null).await;
    assert_eq!(back.expect("sets"), (json!(10), ApplyStatus::Now));
    house.fixture.close().await;
}

#[tokio::test]
async fn a_variable_of_the_environment_beats_the_file() {
    let env = EnvVars::from_pairs([("HOB_LOG_LEVEL", "info")]);
    let house = house_with(env, "");
    let changed = house.set("log.level", json!("debug")).await.expect("sets");
    assert_eq!(changed, (json!("info"), ApplyStatus::Overridden));
    assert!(house.text().contains("level = \"debug\""));
    assert_eq!(house.settings.borrow().text("log.level"), "info");
    house.fixture.close().await;
}

#[tokio::test]
async fn settings_are_shown_with_their_origin() {
    let env = EnvVars::from_pairs([("HOB_GATEWAY_NAME", "x")]);
    let house = house_with(env, "[log]\nlevel = \"debug\"\n");
    let caller = house.fixture.caller();
    let all = caller
        .call::<Get>(&ConfigGetParams::default())
        .await
        .expect("shows");
    let shown: Vec<_> = all
        .settings
        .iter()
        .map(|s| (s.key.as_str(), s.origin, s.live))
        .collect();
    assert_eq!(
        shown,
        [
            ("gateway.max_connections", ConfigOrigin::Default, false),
            ("gateway.name", ConfigOrigin::Env, true),
            ("log.level", ConfigOrigin::File, true),
            ("tools.shell", ConfigOrigin::Default, false),
        ]
    );
    let key = Some("gateway".to_owned());
    let below = caller
        .call::<Get>(&ConfigGetParams { key })
        .await
        .expect("shows");
    assert_eq!(below.settings.len(), 2);
    let key = Some("gate".to_owned());
    assert_eq!(
        code(caller.call::<Get>(&ConfigGetParams { key }).await),
        ErrorCode::NotFound
    );
    house.fixture.close().await;
}

#[tokio::test]
async fn what_is_refused_changes_nothing() {
    let house = house("[log]\nlevel = \"info\"\n");
    for (key, value, expected) in [
        ("log.levl", json!("debug"), ErrorCode::NotFound),
        ("log.level", json!("loud"), ErrorCode::InvalidParams),
        ("log.level", json!(7), ErrorCode::InvalidParams),
        (
            "gateway.max_connections",
            json!(0),
            ErrorCode::InvalidParams,
        ),
        ("tools.shell", json!("/tmp/evil"), ErrorCode::Forbidden),
    ] {
        assert_eq!(code(house.set(key, value).await), expected, "{key}");
    }
    assert_eq!(house.text(), "[log]\nlevel = \"info\"\n");
    assert!(house.applied.lock().expect("is sound").is_empty());
    house.fixture.close().await;
}

#[tokio::test]
async fn a_file_broken_by_hand_is_not_written_over() {
    let house = house("");
    let broken = "[log]\nlevl = \"info\"\n";
    std::fs::write(house.fixture.home.config_file(), broken).expect("writes");
    let refused = house
        .set("gateway.name", json!("x"))
        .await
        .expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::Conflict);
    assert!(refused.message.contains("line 2"), "{}", refused.message);
    assert_eq!(house.text(), broken);
    house.fixture.close().await;
}

#[tokio::test]
async fn what_a_person_edited_meanwhile_is_taken_along() {
    let house = house("");
    let edited = "[log]\nlevel = \"debug\"\n";
    std::fs::write(house.fixture.home.config_file(), edited).expect("writes");
    house.set("gateway.name", json!("x")).await.expect("sets");
    assert_eq!(house.settings.borrow().text("log.level"), "debug");
    let mut keys = Vec::new();
    for _ in 0..2 {
        let (_, payload) = house.fixture.heard("config.changed").await;
        keys.push(payload["key"].clone());
    }
    assert_eq!(keys, ["gateway.name", "log.level"]);
    house.fixture.close().await;
}

#[tokio::test]
async fn concurrent_changes_all_arrive() {
    let house = house("");
    let caller = house.fixture.caller();
    let mut sets = tokio::task::JoinSet::new();
    for number in 1..=20_u64 {
        let caller = caller.clone();
        let (key, value) = match number % 2 {
            0 => ("gateway.max_connections", json!(number)),
            _ => ("gateway.name", json!(number.to_string())),
        };
        let params = ConfigSetParams {
            key: key.to_owned(),
            value,
        };
        sets.spawn(async move { caller.call::<Set>(&params).await.expect("sets") });
    }
    sets.join_all().await;
    let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
    let file =
        Settings::load_home(&catalog, &house.fixture.home, &EnvVars::default()).expect("loads");
    assert_eq!(
        house.get("gateway.name").await,
        json!(file.text("gateway.name"))
    );
    assert_eq!(file.u64("gateway.max_connections") % 2, 0);
    house.fixture.close().await;
}

#[tokio::test]
async fn a_schema_describes_every_setting_and_what_waits_for_a_restart() {
    let house = house("[gateway]\nmax_connections = 20\n");
    let caller = house.fixture.caller();
    let schema = async |key: Option<&str>| {
        let params = ConfigGetParams {
            key: key.map(str::to_owned),
        };
        caller.call::<Schema>(&params).await
    };
    let all = schema(None).await.expect("describes").settings;
    let keys: Vec<&str> = all.iter().map(|it| it.key.as_str()).collect();
    let expected = [
        "gateway.max_connections",
        "gateway.name",
        "log.level",
        "tools.shell",
    ];
    assert_eq!(keys, expected);
    let bound = &all[0];
    assert_eq!(bound.kind, SettingKindSchema::Integer { min: 1, max: 100 });
    assert_eq!(
        (&bound.default, &bound.value),
        (&Some(json!(10)), &Some(json!(20)))
    );
    assert_eq!(
        (bound.origin, bound.live, bound.settable),
        (ConfigOrigin::File, false, true)
    );
    assert_eq!(
        bound.variable.as_deref(),
        Some("HOB_GATEWAY_MAX_CONNECTIONS")
    );
    assert_eq!(bound.pending, None);
    let level = &all[2];
    let choices = vec!["info".to_owned(), "debug".to_owned()];
    assert_eq!(level.kind, SettingKindSchema::Choice { choices });
    assert_eq!((level.about.as_str(), level.live), ("How much.", true));
    assert!(!all[3].settable);
    let set = ConfigSetParams {
        key: "gateway.max_connections".to_owned(),
        value: json!(30),
    };
    caller.call::<Set>(&set).await.expect("sets");
    let later = schema(Some("gateway.max_connections")).await;
    let later = later.expect("describes").settings.remove(0);
    assert_eq!(
        (later.value, later.pending),
        (Some(json!(20)), Some(json!(30)))
    );
    assert_eq!(
        schema(Some("gateway"))
            .await
            .expect("describes")
            .settings
            .len(),
        2
    );
    assert_eq!(code(schema(Some("colour")).await), ErrorCode::NotFound);
    house.fixture.close().await;
}

#[tokio::test]
async fn the_last_change_is_taken_back_once_and_only_from_the_file_it_left() {
    let text = "# mine\n[log]\nlevel = \"info\" # why\n";
    let house = house(text);
    let caller = house.fixture.caller();
    let file = house.fixture.home.config_file();
    let set = async |key: &str, value: Value| {
        let key = key.to_owned();
        caller.call::<Set>(&ConfigSetParams { key, value }).await
    };
    let undo = async || caller.call::<Undo>(&ConfigUndoParams {}).await;
    assert_eq!(code(undo().await), ErrorCode::NotFound);
    set("log.level", json!("debug")).await.expect("sets");
    // A change that is refused is not the last one.
    assert_eq!(
        code(set("log.level", json!("loud")).await),
        ErrorCode::InvalidParams
    );
    let undone = undo().await.expect("takes back");
    assert_eq!(
        (undone.key.as_str(), undone.value),
        ("log.level", json!("info"))
    );
    assert_eq!(undone.applied, ApplyStatus::Now);
    assert_eq!(std::fs::read_to_string(&file).expect("reads"), text);
    assert_eq!(house.settings.borrow().text("log.level"), "info");
    assert_eq!(code(undo().await), ErrorCode::NotFound);

    set("gateway.name", json!("one")).await.expect("sets");
    let by_hand = std::fs::read_to_string(&file).expect("reads") + "# by hand\n";
    std::fs::write(&file, &by_hand).expect("writes");
    assert_eq!(code(undo().await), ErrorCode::Conflict);
    assert_eq!(std::fs::read_to_string(&file).expect("reads"), by_hand);
    // The next change includes what was written by hand, and its undo leaves that.
    set("gateway.name", json!("two")).await.expect("sets");
    undo().await.expect("takes back");
    assert_eq!(std::fs::read_to_string(&file).expect("reads"), by_hand);
    house.fixture.close().await;
}

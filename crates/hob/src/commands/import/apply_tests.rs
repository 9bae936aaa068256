//! Which value of a setting an import sets.

use super::{SettingStays, value_to_set};
use hob_dialects::import_plan::ImportedSetting;
use hob_wire::rooms::config::{ConfigOrigin, ConfigSetting};
use serde_json::{Value, json};

fn decided(wanted: Value, there: Value, origin: ConfigOrigin) -> Result<Value, SettingStays> {
    let setting = ImportedSetting {
        key: "a.b".to_owned(),
        value: wanted,
    };
    let current = ConfigSetting {
        key: "a.b".to_owned(),
        value: there,
        origin,
        live: true,
    };
    value_to_set(&setting, Some(&current))
}

#[test]
fn a_value_that_a_person_set_stays() {
    let default = ConfigOrigin::Default;
    assert_eq!(decided(json!(50), json!(100), default), Ok(json!(50)));
    for origin in [ConfigOrigin::File, ConfigOrigin::Env] {
        assert_eq!(
            decided(json!(50), json!(100), origin),
            Err(SettingStays::Other)
        );
        assert_eq!(
            decided(json!(50), json!(50), origin),
            Err(SettingStays::Same)
        );
    }
}

#[test]
fn a_list_gets_what_it_lacks() {
    let there = json!(["a", "b"]);
    for origin in [ConfigOrigin::Default, ConfigOrigin::File] {
        assert_eq!(
            decided(json!(["x", "b"]), there.clone(), origin),
            Ok(json!(["x", "a", "b"]))
        );
        assert_eq!(
            decided(json!(["b"]), there.clone(), origin),
            Err(SettingStays::Same)
        );
    }
    let from_env = decided(json!(["x"]), there, ConfigOrigin::Env);
    assert_eq!(from_env, Err(SettingStays::Other));
}

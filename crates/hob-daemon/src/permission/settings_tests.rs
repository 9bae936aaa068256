//! Modes and ceilings from a config file.

use super::*;
use hob_kit::host_environment::EnvVars;
use hob_kit::settings::SettingsCatalog;
use std::sync::Arc;

fn load(text: &str) -> Settings {
    let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
    Settings::load(&catalog, "test", text, &EnvVars::default()).unwrap()
}

#[test]
fn the_file_sets_mode_and_ceilings() {
    let none = load("");
    assert_eq!(mode(&none), PermissionMode::Ask);
    assert_eq!(ceilings(&none), TierCeilings::default());
    let some = load(
        "[permission]\nmode = \"read-only\"\n[permission.kinds]\ncron = \"write\"\nloop = \"exec\"\n\
         [permission.channels]\ntelegram = \"external\"\n\"e mail\" = \"write\"\n",
    );
    assert_eq!(mode(&some), PermissionMode::ReadOnly);
    let ceilings = ceilings(&some);
    assert_eq!(ceilings.kinds["cron"], Tier::Write);
    assert_eq!(ceilings.kinds["loop"], Tier::Exec);
    assert_eq!(ceilings.channels["telegram"], Tier::External);
    assert_eq!(ceilings.channels["e mail"], Tier::Write);
}

#[test]
fn a_word_that_is_no_tier_is_refused() {
    let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
    let text = "[permission.kinds]\ncron = \"all\"\n";
    let refused = Settings::load(&catalog, "test", text, &EnvVars::default());
    assert!(refused.is_err());
}

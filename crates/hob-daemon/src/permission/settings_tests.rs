//! Modes and ceilings as the file says them.

use super::*;
use hob_kit::settings::Catalog;
use hob_kit::world::Env;
use std::sync::Arc;

fn load(text: &str) -> Settings {
    let catalog = Arc::new(Catalog::new(&[KEYS]));
    Settings::load(&catalog, "test", text, &Env::default()).unwrap()
}

#[test]
fn the_file_says_mode_and_ceilings() {
    let none = load("");
    assert_eq!(mode(&none), Mode::Ask);
    assert_eq!(ceilings(&none), Ceilings::default());
    let some = load(
        "[permission]\nmode = \"read-only\"\n[permission.kinds]\ncron = \"write\"\nloop = \"exec\"\n\
         [permission.channels]\ntelegram = \"external\"\n\"e mail\" = \"write\"\n",
    );
    assert_eq!(mode(&some), Mode::ReadOnly);
    let ceilings = ceilings(&some);
    assert_eq!(ceilings.kinds["cron"], Tier::Write);
    assert_eq!(ceilings.kinds["loop"], Tier::Exec);
    assert_eq!(ceilings.channels["telegram"], Tier::External);
    assert_eq!(ceilings.channels["e mail"], Tier::Write);
}

#[test]
fn a_word_that_is_no_tier_is_refused() {
    let catalog = Arc::new(Catalog::new(&[KEYS]));
    let text = "[permission.kinds]\ncron = \"all\"\n";
    let refused = Settings::load(&catalog, "test", text, &Env::default());
    assert!(refused.is_err());
}

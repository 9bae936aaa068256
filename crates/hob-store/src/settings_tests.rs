//! The defaults are the bounds of the wire.

use super::{KEYS, retention};
use crate::retention::LIMITS;
use hob_kit::settings::{Settings, SettingsCatalog};
use std::sync::Arc;

#[test]
fn unset_the_whole_log_is_kept() {
    let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
    assert_eq!(catalog.faults(), Vec::<String>::new());
    assert_eq!(retention(&Settings::defaults(catalog)), LIMITS);
}

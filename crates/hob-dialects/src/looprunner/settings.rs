//! The setting of Loop Runner's dialect.

use hob_gateway::settings::{check_optional_address, non_empty};
use hob_kit::settings::{SettingKey, SettingKind, Settings};

pub(crate) const KEYS: &[SettingKey] = &[SettingKey::new(
    "listen.looprunner",
    SettingKind::Checked {
        expects: "a loopback address such as 127.0.0.1:3456, or nothing",
        check: check_optional_address,
    },
    "",
    "An HTTP listener for Loop Runner's clients, which can send no token. Setting it is the grant: any program of your user may then set, start and stop the loop 'default', its monitor command included, which runs in the sandbox.",
)];

/// The address of the opt-in listener, if it is enabled.
pub(crate) fn address(settings: &Settings) -> Option<String> {
    non_empty(settings, "listen.looprunner")
}

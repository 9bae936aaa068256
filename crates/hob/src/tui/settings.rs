//! The settings of the terminal UI.

use crate::context::CommandContext;
use crate::settings;
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use hob_tui::theme::Theme;

const THEME: &str = "tui.theme";
const MOUSE: &str = "tui.mouse";
const LEAVE: &str = "tui.leave";
const REDUCED_MOTION: &str = "tui.reduced_motion";

/// The keys of `tui.*`.
pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        THEME,
        SettingKind::Choice(&["auto", "dark", "light", "high-contrast", "plain"]),
        "auto",
        "The colours of the terminal UI. `auto` asks the terminal for its background; `NO_COLOR` turns colours off.",
    )
    .live(),
    SettingKey::new(
        MOUSE,
        SettingKind::Bool,
        "true",
        "Whether the wheel scrolls and a click folds in the terminal UI. The terminal's own selection then needs Shift; a key releases the mouse.",
    )
    .live(),
    SettingKey::new(
        LEAVE,
        SettingKind::Choice(&["answer", "nothing"]),
        "answer",
        "What the terminal UI leaves on the screen when it ends: the last question with its answer, or nothing.",
    )
    .live(),
    SettingKey::new(
        REDUCED_MOTION,
        SettingKind::Bool,
        "false",
        "Whether nothing in the terminal UI moves more than once a second.",
    )
    .live(),
];

/// The settings as they are set.
#[derive(Clone, Copy, Debug)]
pub struct TuiSettings {
    /// `None`: by the terminal's background.
    pub theme: Option<Theme>,
    pub mouse: bool,
    pub leaves_answer: bool,
    pub reduced_motion: bool,
}

impl TuiSettings {
    /// Reads them. A file that cannot be read is the daemon's to complain about; until then the
    /// defaults hold.
    pub fn load(context: &CommandContext) -> TuiSettings {
        let (home, env) = (&context.host.home, &context.host.env);
        let catalog = settings::catalog();
        let loaded = Settings::load_home(&catalog, home, env);
        let settings = loaded.unwrap_or_else(|_| Settings::defaults(catalog));
        TuiSettings {
            theme: Theme::named(settings.text(THEME)),
            mouse: settings.bool(MOUSE),
            leaves_answer: settings.text(LEAVE) == "answer",
            reduced_motion: settings.bool(REDUCED_MOTION),
        }
    }
}

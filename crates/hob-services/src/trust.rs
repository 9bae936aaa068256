//! Whose servers on this machine are used as services. A port says nothing of who took it: only a
//! server of the person's own, of root, or of a user they named gets what they ask.

use hob_kit::failpoint;
use hob_kit::settings::{Key, Kind, Settings, Value};
use hob_net::{TrustedUsers, UntrustedListener, check_listener_of};

/// `services.NAME.trusted_users`.
pub const KEY: Key = Key::new(
    "services.*.trusted_users",
    Kind::List,
    "",
    "Other users of this machine whose server may be used as this service, and so sees what you ask: names or numbers, such as ollama; * for all.",
)
.live();

/// Who is trusted for a service.
pub fn trusted_users(settings: &Settings, service: &str) -> TrustedUsers {
    // Fault test 46: another user's server that is used must be noticed.
    if failpoint::broken(46) {
        return TrustedUsers::and(&["*".to_owned()]);
    }
    let path = format!("services.{service}.trusted_users");
    match settings.entry(&path).map(|entry| &entry.value) {
        Some(Value::List(names)) => TrustedUsers::and(names),
        _ => TrustedUsers::ourselves(),
    }
}

/// Whether a server that was found, and not started by hob, may be used. The error is a sentence
/// with the command that allows it.
pub async fn check_found(url: &str, settings: &Settings, service: &str) -> Result<(), Distrust> {
    let trusted = trusted_users(settings, service);
    let checked = check_listener_of(url.to_owned(), trusted).await;
    checked.map_err(|why| Distrust::of(why, service))
}

/// Why a server is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distrust {
    pub why: UntrustedListener,
    /// For people.
    pub sentence: String,
}

impl Distrust {
    pub fn of(why: UntrustedListener, service: &str) -> Distrust {
        let advice = match &why {
            UntrustedListener::Foreign { user, .. } => {
                let user = user.trim_matches('\'');
                format!(
                    ", so hob sends nothing there. If you trust that user with what you ask: `hob config set services.{service}.trusted_users {user}`."
                )
            }
            UntrustedListener::Nobody { .. } | UntrustedListener::Unreadable { .. } => {
                ", so hob sends nothing there.".to_owned()
            }
        };
        Distrust {
            sentence: format!("{why}{advice}"),
            why,
        }
    }

    /// Whether it is somebody's whom a person could trust; otherwise there is nothing to say.
    pub fn is_foreign(&self) -> bool {
        matches!(self.why, UntrustedListener::Foreign { .. })
    }
}

/// Whether a text about a missing service names a server that was left alone.
pub fn names_distrusted(text: &str) -> bool {
    text.contains(".trusted_users ")
}

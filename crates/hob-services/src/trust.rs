//! Trust in servers that already run on this machine. Any user can listen on a port, so requests go
//! only to servers of this user, of root, or of users that the settings name.

use hob_kit::settings::{SettingKey, SettingKind, SettingValue, Settings};
use hob_net::{TrustedUsers, UntrustedListener, check_listener_async};

/// `services.NAME.trusted_users`.
pub const KEY: SettingKey = SettingKey::new(
    "services.*.trusted_users",
    SettingKind::List,
    "",
    "Other users of this machine whose server may be used as this service, and so sees what you ask: names or numbers, such as ollama; * for all.",
)
.live();

/// The trusted users of a service.
pub fn trusted_users(settings: &Settings, service: &str) -> TrustedUsers {
    let path = format!("services.{service}.trusted_users");
    match settings.entry(&path).map(|entry| &entry.value) {
        Some(SettingValue::List(names)) => TrustedUsers::with_users(names),
        _ => TrustedUsers::ourselves(),
    }
}

/// Checks that a server which hob found, and did not start, may be used. The error contains the
/// command that allows it.
pub async fn check_found_server(
    url: &str,
    settings: &Settings,
    service: &str,
) -> Result<(), UntrustedServer> {
    let trusted = trusted_users(settings, service);
    let checked = check_listener_async(url.to_owned(), trusted).await;
    checked.map_err(|why| UntrustedServer::new(why, service))
}

/// A server that is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedServer {
    pub why: UntrustedListener,
    /// The message for the user.
    pub sentence: String,
}

impl UntrustedServer {
    pub fn new(why: UntrustedListener, service: &str) -> UntrustedServer {
        let advice = match &why {
            UntrustedListener::Foreign { user, .. } => {
                // The error quotes the name; the command must not.
                let user = user.trim_matches('\'');
                format!(
                    ", so hob sends nothing there. If you trust that user with what you ask: `hob config set services.{service}.trusted_users {user}`."
                )
            }
            UntrustedListener::NotListening { .. } | UntrustedListener::Unreadable { .. } => {
                ", so hob sends nothing there.".to_owned()
            }
        };
        UntrustedServer {
            sentence: format!("{why}{advice}"),
            why,
        }
    }

    /// Returns true if a known other user owns the server, whom the user could trust.
    pub fn is_foreign(&self) -> bool {
        matches!(self.why, UntrustedListener::Foreign { .. })
    }
}

/// Returns true if a message about a missing service mentions an untrusted server.
pub fn names_distrusted(text: &str) -> bool {
    text.contains(".trusted_users ")
}

//! Kokoro and like servers that speak in OpenAI's form: one that runs is used.

use crate::descriptor::{Descriptor, Kind};
use crate::found::{Entry, Found, Place};
use crate::trust;
use hob_kit::settings::{Key, Kind as SettingKind};
use hob_net::Request;
use hob_wire::rooms::service::ServiceRole;
use std::time::Duration;

const NAME: &str = "kokoro";
const PATIENCE: Duration = Duration::from_secs(1);

pub const ENTRY: Entry = Entry {
    descriptor,
    find: Some(|place| Box::pin(find(place))),
    install: None,
};

pub const KEYS: &[Key] = &[Key::new(
    "kokoro.server",
    SettingKind::Text,
    "127.0.0.1:8880",
    "Where a running Kokoro server (Kokoro-FastAPI) is looked for. It is used and never stopped.",
)
.live()];

fn descriptor() -> Descriptor {
    Descriptor {
        about: "Speech by a running Kokoro server".to_owned(),
        kind: Kind::Http,
        role: Some(ServiceRole::Tts),
        aliases: vec!["chatterbox".to_owned()],
        licence: Some("Kokoro: Apache-2.0".to_owned()),
        ..Descriptor::defaults(NAME)
    }
}

async fn find(place: &Place<'_>) -> Found {
    let server = place.settings.text("kokoro.server").trim();
    let url = format!("http://{server}");
    let is_there = match trust::check_found(&url, place.settings, NAME).await {
        Ok(()) => {
            let request = Request::get(format!("{url}/health")).head_timeout(PATIENCE);
            let answer = place.http.send(request).await;
            answer.is_ok_and(|answer| answer.status() == 200)
        }
        Err(distrust) if distrust.is_foreign() => {
            let why = distrust.sentence;
            return Found::Missing { why };
        }
        Err(_) => false,
    };
    if is_there {
        return Found::Running {
            what: format!("a Kokoro server at {server}"),
            url,
            model: None,
        };
    }
    Found::Missing {
        why: format!(
            "No Kokoro server runs at {server}. Start Kokoro-FastAPI there, or name another address: hob config set kokoro.server HOST:PORT."
        ),
    }
}

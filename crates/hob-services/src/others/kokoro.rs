//! Kokoro and similar speech servers with OpenAI's API. A running one is used.

use crate::descriptor::{ServiceDescriptor, ServiceKind};
use crate::discovery::{DiscoveryContext, FoundService, ShippedService};
use crate::trust;
use hob_kit::settings::{SettingKey, SettingKind};
use hob_net::{HttpRequest, is_own_server};
use hob_wire::rooms::service::ServiceRole;
use hob_wire::speech_request::SPEECH_SERVER;
use std::time::Duration;

const NAME: &str = "kokoro";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

pub const ENTRY: ShippedService = ShippedService {
    descriptor,
    find: Some(|context| Box::pin(find(context))),
    install: None,
};

pub const KEYS: &[SettingKey] = &[SettingKey::new(
    "kokoro.server",
    SettingKind::Text,
    "127.0.0.1:8880",
    "Where a running Kokoro server (Kokoro-FastAPI) is looked for. It is used and never stopped.",
)
.live()];

fn descriptor() -> ServiceDescriptor {
    ServiceDescriptor {
        about: "Speech by a running Kokoro server".to_owned(),
        kind: ServiceKind::Http,
        role: Some(ServiceRole::Tts),
        aliases: vec!["chatterbox".to_owned()],
        licence: Some("Kokoro: Apache-2.0".to_owned()),
        ..ServiceDescriptor::defaults(NAME)
    }
}

async fn find(context: &DiscoveryContext<'_>) -> FoundService {
    let server = context.settings.text("kokoro.server").trim();
    let url = format!("http://{server}");
    // hob may answer there itself, for clients of other systems. To use that would be a circle.
    if is_own_server(url.clone()).await {
        return held_by_hob(server);
    }
    // Before the first request: an untrusted server must not see anything.
    let is_there = match trust::check_found_server(&url, context.settings, NAME).await {
        Ok(()) => {
            let request = HttpRequest::get(format!("{url}/health")).head_timeout(ANSWER_TIMEOUT);
            match context.http.send(request).await {
                // One of hob's own speech services, or another hob.
                Ok(answer) if answer.header("server") == Some(SPEECH_SERVER) => {
                    return held_by_hob(server);
                }
                answer => answer.is_ok_and(|answer| answer.status() == 200),
            }
        }
        Err(untrusted) if untrusted.is_foreign() => {
            let why = untrusted.sentence;
            return FoundService::Missing { why };
        }
        Err(_) => false,
    };
    if is_there {
        return FoundService::Running {
            what: format!("a Kokoro server at {server}"),
            url,
            model: None,
        };
    }
    FoundService::Missing {
        why: format!(
            "No Kokoro server runs at {server}. Start Kokoro-FastAPI there, or name another address: hob config set kokoro.server HOST:PORT."
        ),
    }
}

fn held_by_hob(server: &str) -> FoundService {
    FoundService::Missing {
        why: format!(
            "hob itself answers at {server}, so no Kokoro server is there. Start Kokoro-FastAPI at another address and name it: hob config set kokoro.server HOST:PORT."
        ),
    }
}

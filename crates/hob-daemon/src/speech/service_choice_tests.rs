//! The choice of the service, and its error messages.

use super::{ServiceChoice, choose, error_message};
use hob_wire::rooms::service::{ManagedService, ServiceRole, ServiceState, ServiceStatus};

fn service(name: &str, role: ServiceRole, state: ServiceState, installed: bool) -> ManagedService {
    ManagedService {
        status: ServiceStatus {
            name: name.to_owned(),
            state,
            pid: None,
            port: None,
            detail: None,
            last_exit: None,
            restarts: 0,
        },
        about: String::new(),
        role: Some(role),
        installed,
        missing: (!installed).then(|| format!("{name} is not here.")),
        installable: false,
        autostart: false,
        adopted: false,
        aliases: vec![format!("{name}-alias")],
        needs: Vec::new(),
        file: None,
        licence: None,
        installation: None,
    }
}

#[test]
fn one_that_runs_comes_before_one_that_could() {
    use ServiceState::{Running, Stopped};
    let llm = service("llm", ServiceRole::Llm, Running, true);
    let none = service("kokoro", ServiceRole::Tts, Stopped, false);
    let could = service("tts", ServiceRole::Tts, Stopped, true);
    let runs = service("voice", ServiceRole::Tts, Running, false);
    let chosen = |name: &str| ServiceChoice::Service(name.to_owned());
    let all = [llm.clone(), none.clone(), could.clone(), runs];
    assert_eq!(choose(&all, None), chosen("voice"));
    assert_eq!(choose(&all[..3], None), chosen("tts"));
    assert_eq!(choose(&all, Some("tts-alias")), chosen("tts"));
    let missing = ServiceChoice::Missing("kokoro is not here.".to_owned());
    assert_eq!(choose(&all[..2], None), missing);
    assert_eq!(choose(&all, Some("kokoro")), missing);
    assert!(matches!(
        choose(&all, Some("llm")),
        ServiceChoice::NotFound(_)
    ));
    assert!(matches!(choose(&all[..1], None), ServiceChoice::Missing(_)));
}

#[test]
fn a_complaint_is_in_words() {
    let message = |body: &[u8]| error_message("tts", 400, body);
    assert_eq!(message(br#"{"error":{"message":"No."}}"#), "No.");
    assert_eq!(message(br#"{"error":"No."}"#), "No.");
    assert_eq!(message(b"No\x1b[1m."), "No[1m.");
    assert_eq!(message(b""), "The service 'tts' answered 400.");
    assert_eq!(message(&[b'x'; 9_000]).len(), 500);
}

//! Payloads written by hand are the ones the wire's types write.

use super::{MessageFields, SessionIdentity, created_payload, message_payload};
use hob_wire::rooms::session::{SessionCreatedPayload, SessionMessagePayload};
use hob_wire::{ContentPart, Message, MessageContent, MessageId, Role, SessionId};
use uuid::Uuid;

#[test]
fn a_message_payload_is_what_its_type_writes() {
    let id = SessionId(Uuid::from_u128(7));
    let contents = [
        MessageContent::from("plain \"quoted\" \u{1F600}\n"),
        MessageContent::Parts(vec![ContentPart::Text {
            text: "part".to_owned(),
        }]),
    ];
    for content in contents {
        for key in [None, Some("chat:\"main\"\u{e9}\\")] {
            let identity = SessionIdentity::new(id, key);
            let message = Message {
                id: MessageId(Uuid::from_u128(u128::MAX - 5)),
                seq: 12,
                role: Role::Assistant,
                content: content.clone(),
                at: 1_700_000_000_123,
            };
            let json = serde_json::to_string(&content).unwrap();
            let written = message_payload(
                &identity,
                &MessageFields {
                    id: message.id,
                    seq: message.seq,
                    role: message.role.as_str(),
                    content: &json,
                    at: message.at,
                },
            );
            let typed = SessionMessagePayload {
                session_key: key.map_or_else(|| id.to_string(), ToOwned::to_owned),
                session_id: id,
                message,
            };
            assert_eq!(
                String::from_utf8_lossy(&written),
                serde_json::to_string(&typed).unwrap()
            );
        }
    }
}

#[test]
fn a_created_payload_reads_back() {
    let id = SessionId(Uuid::from_u128(7));
    let payload = created_payload(&SessionIdentity::new(id, None), "cron");
    let read: SessionCreatedPayload = serde_json::from_slice(&payload).unwrap();
    assert_eq!(read.session_key, id.to_string());
    assert_eq!(read.kind, "cron");
}

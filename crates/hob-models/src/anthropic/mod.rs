//! Placeholder.

use crate::dialect::{Ask, Call, Decoder, Dialect, ListPage};
use crate::openai_chat::OpenaiChat;
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Anthropic;

impl Dialect for Anthropic {
    fn base(&self, url: &str) -> String {
        OpenaiChat.base(url)
    }
    fn call(&self, ask: &Ask<'_>) -> Call {
        OpenaiChat.call(ask)
    }
    fn decoder(&self) -> Box<dyn Decoder> {
        OpenaiChat.decoder()
    }
    fn list_path(&self) -> &'static str {
        OpenaiChat.list_path()
    }
    fn read_list(&self, body: &Value) -> Option<ListPage> {
        OpenaiChat.read_list(body)
    }
}

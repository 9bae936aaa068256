//! OpenAI's responses. See README.md.

mod request;
mod stream;

use crate::dialect::{Ask, Call, Decoder, Dialect, ListPage};
use crate::openai_chat::OpenaiChat;
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct OpenaiResponses;

impl Dialect for OpenaiResponses {
    fn base(&self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        OpenaiChat.base(url.strip_suffix("/responses").unwrap_or(url))
    }

    fn call(&self, ask: &Ask<'_>) -> Call {
        Call {
            path: "/responses".to_owned(),
            body: request::body(ask),
        }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(stream::ResponseStream::default())
    }

    fn list_path(&self) -> &'static str {
        OpenaiChat.list_path()
    }

    fn read_list(&self, body: &Value) -> Option<ListPage> {
        OpenaiChat.read_list(body)
    }
}

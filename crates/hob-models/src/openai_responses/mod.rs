//! OpenAI's Responses API. See README.md.

mod request;
mod stream;

use crate::dialect::{
    ModelListPage, ProviderDialect, ProviderRequest, RequestInput, StreamDecoder,
};
use crate::openai_chat::OpenaiChatDialect;
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct OpenaiResponsesDialect;

impl ProviderDialect for OpenaiResponsesDialect {
    fn base_url(&self, url: &str) -> String {
        let url = url.trim_end_matches('/');
        OpenaiChatDialect.base_url(url.strip_suffix("/responses").unwrap_or(url))
    }

    fn build_request(&self, ask: &RequestInput<'_>) -> ProviderRequest {
        ProviderRequest {
            path: "/responses".to_owned(),
            body: request::body(ask),
        }
    }

    fn decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(stream::OpenaiResponsesStream::default())
    }

    fn models_path(&self) -> &'static str {
        OpenaiChatDialect.models_path()
    }

    fn parse_models(&self, body: &Value) -> Option<ModelListPage> {
        OpenaiChatDialect.parse_models(body)
    }
}

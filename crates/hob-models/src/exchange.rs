//! One attempt at one model. This is the only module of the crate that does network I/O.

use crate::dialect::{self, AnswerTransport, DecodedReply, ProviderRequest, RequestInput};
use crate::error::ModelError;
use crate::opencode;
use crate::prompt::{ModelReply, Prompt, ReplyDelta, StopReason};
use crate::provider_refusal::{self, ProviderRefusal};
use crate::settings::{CallTimeouts, ProviderConfig};
use crate::text_tools::{self, TextCallDecoder};
use crate::usage::{self, MeasuredUsage};
use crate::{history, tokens, tool_id};
use bytes::Bytes;
use hob_core::failover::ErrorClass;
use hob_kit::secret::Secret;
use hob_net::{HttpClient, HttpRequest, HttpResponse, SseEvent, SseReader, StreamBounds};
use hob_wire::content::ContentPart;
use std::borrow::Cow;
use std::time::Duration;

/// The limit of one answer's stream. The longest answers take about 300 bytes per token.
const STREAM_BYTES_MAX: usize = 128 * 1024 * 1024;
/// The time to drain a stream after its answer, so that its connection can be reused. A slower
/// connection is closed.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);
/// The limit of one page of a model list.
pub(crate) const LIST_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The limit of an error body. Only its beginning is useful.
const REFUSAL_BYTES_MAX: usize = 256 * 1024;

/// The client, provider, model and key of one attempt.
#[derive(Debug)]
pub(crate) struct ProviderExchange<'a> {
    pub(crate) http: &'a HttpClient,
    pub(crate) provider: &'a ProviderConfig,
    pub(crate) model: &'a str,
    pub(crate) key: Option<&'a Secret>,
    pub(crate) timeouts: CallTimeouts,
}

/// The prompt, and the bytes that were sent for it.
struct SentPrompt<'a> {
    prompt: &'a Prompt,
    body: &'a [u8],
}

/// The event stream of an answer.
struct ReplyStream {
    events: SseReader,
    /// The OpenCode session of the events, if any. Dropping it ends the session.
    session: Option<opencode::OpencodeSession>,
}

impl ReplyStream {
    /// Returns the next event of the answer. With a session, the timeout covers events of other
    /// sessions too: they arrive on the same stream and must not count as a sign of life.
    async fn next(&mut self, silence: Duration) -> Result<Option<SseEvent>, ModelError> {
        let Some(session) = &self.session else {
            return Ok(self.events.next().await?);
        };
        match tokio::time::timeout(silence, session.next(&mut self.events)).await {
            Ok(event) => Ok(event?),
            Err(_) => Err(ModelError::new(
                ErrorClass::Timeout,
                format!("Nothing came for {silence:?}."),
            )),
        }
    }
}

impl ProviderExchange<'_> {
    /// Sends the prompt once. Dropping the future closes the connection.
    pub(crate) async fn ask(
        &self,
        prompt: &Prompt,
        on: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> Result<ModelReply, ModelError> {
        let asked = self.attempt(prompt, on);
        match tokio::time::timeout(self.timeouts.call, asked).await {
            Ok(answered) => answered,
            Err(_) => Err(ModelError::new(
                ErrorClass::Timeout,
                format!("The call took longer than {:?}.", self.timeouts.call),
            )),
        }
    }

    async fn attempt(
        &self,
        prompt: &Prompt,
        on: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> Result<ModelReply, ModelError> {
        let mut prompt = if self.provider.text_tools {
            Cow::Owned(text_tools::to_text_prompt(prompt))
        } else {
            Cow::Borrowed(prompt)
        };
        if prompt.model != self.model {
            self.model.clone_into(&mut prompt.to_mut().model);
        }
        let call = self.build_request(&prompt);
        let body = Bytes::from(call.body.to_string());
        let mut stream = self.send(&call.path, body.clone()).await?;
        let mut text_calls = self.provider.text_tools.then(TextCallDecoder::default);
        let decoded = self
            .read_reply(&mut stream, text_calls.as_mut(), on)
            .await?;
        // The event stream of a session never ends, so there is nothing to drain.
        if stream.session.is_none() {
            stream.events.drain(DRAIN_TIMEOUT).await;
        }
        let sent = SentPrompt {
            prompt: &prompt,
            body: &body,
        };
        Ok(self.finish_reply(&sent, decoded, text_calls, on))
    }

    fn build_request(&self, prompt: &Prompt) -> ProviderRequest {
        let (said, turns) = history::to_turns(&prompt.messages);
        let mut system = prompt.system.clone();
        system.extend(said);
        system.retain(|layer| !layer.trim().is_empty());
        dialect::for_kind(self.provider.kind).build_request(&RequestInput {
            prompt,
            system: &system,
            turns: &turns,
            quirks: &self.provider.quirks,
        })
    }

    /// Sends the request and returns its event stream.
    async fn send(&self, path: &str, body: Bytes) -> Result<ReplyStream, ModelError> {
        match dialect::for_kind(self.provider.kind).transport() {
            AnswerTransport::Post => {
                let request = HttpRequest::post(self.url(path), body)
                    .header("content-type", "application/json")
                    .header("accept", "text/event-stream");
                let sent = self.http.send(self.add_headers(request)).await?;
                Ok(ReplyStream {
                    events: self.check_stream(sent).await?,
                    session: None,
                })
            }
            AnswerTransport::Session => {
                let (session, events) = opencode::open(self, body).await?;
                Ok(ReplyStream {
                    events,
                    session: Some(session),
                })
            }
        }
    }

    /// Posts a body. Any status but 2xx is an error.
    pub(crate) async fn post(&self, path: &str, body: Bytes) -> Result<HttpResponse, ModelError> {
        let request = HttpRequest::post(self.url(path), body);
        let request = request.header("content-type", "application/json");
        let response = self.http.send(self.add_headers(request)).await?;
        match response.status() {
            200..=299 => Ok(response),
            _ => Err(self.read_refusal(response).await),
        }
    }

    /// Opens an event stream that does not end with an answer.
    pub(crate) async fn open_events(&self, path: &str) -> Result<SseReader, ModelError> {
        let request = HttpRequest::get(self.url(path)).header("accept", "text/event-stream");
        self.check_stream(self.http.send(self.add_headers(request)).await?)
            .await
    }

    /// Fetches a page of the provider's models.
    pub(crate) async fn fetch(&self, path: &str, bytes_max: usize) -> Result<String, ModelError> {
        let request = HttpRequest::get(self.url(path)).header("accept", "application/json");
        let response = self.http.send(self.add_headers(request)).await?;
        if response.status() != 200 {
            return Err(self.read_refusal(response).await);
        }
        Ok(response.text(self.timeouts.silence, bytes_max).await?)
    }

    /// Returns the first model the provider lists; `None` if the list is empty or unreadable.
    pub(crate) async fn first_model(&self) -> Option<String> {
        let dialect = dialect::for_kind(self.provider.kind);
        let body = self
            .fetch(dialect.models_path(), LIST_BYTES_MAX)
            .await
            .ok()?;
        let page = dialect.parse_models(&dialect::parse_json(&body).ok()?)?;
        page.models.into_iter().next().map(|model| model.name)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        let base = dialect::for_kind(self.provider.kind).base_url(&self.provider.url);
        format!("{base}{path}")
    }

    pub(crate) fn add_headers(&self, request: HttpRequest) -> HttpRequest {
        let dialect = dialect::for_kind(self.provider.kind);
        let mut request = request.head_timeout(self.timeouts.silence);
        for (name, value) in dialect.headers().iter().chain(self.provider.quirks.headers) {
            request = request.header(*name, *value);
        }
        match self.key {
            Some(key) => dialect.authorize(request, key),
            None => request,
        }
    }

    async fn check_stream(&self, response: HttpResponse) -> Result<SseReader, ModelError> {
        if response.status() != 200 {
            return Err(self.read_refusal(response).await);
        }
        // Other content types pass, because some servers send a stream without the right one.
        let kind = response.header("content-type").unwrap_or_default();
        if kind.starts_with("application/json") || kind.starts_with("text/html") {
            // A response in one piece is almost always an error sent with status 200.
            let text = response
                .text(self.timeouts.silence, REFUSAL_BYTES_MAX)
                .await?;
            if text.contains("\"error\"") {
                return Err(provider_refusal::to_error(ProviderRefusal {
                    status: 0,
                    body: &text,
                    retry_after_ms: None,
                }));
            }
            return Err(ModelError::protocol(
                "The answer is not a stream of events; is the address right?",
            ));
        }
        Ok(response.events(StreamBounds {
            idle: self.timeouts.silence,
            total_bytes_max: STREAM_BYTES_MAX,
        }))
    }

    async fn read_refusal(&self, response: HttpResponse) -> ModelError {
        let status = response.status();
        let retry_after_ms = response.retry_after_ms();
        let body = response
            .text(self.timeouts.silence, REFUSAL_BYTES_MAX)
            .await;
        // The status alone classifies the error if the body cannot be read.
        let body = body.unwrap_or_default();
        provider_refusal::to_error(ProviderRefusal {
            status,
            body: &body,
            retry_after_ms,
        })
    }

    async fn read_reply(
        &self,
        stream: &mut ReplyStream,
        mut text_calls: Option<&mut TextCallDecoder>,
        on: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> Result<DecodedReply, ModelError> {
        let mut decoder = dialect::for_kind(self.provider.kind).decoder();
        let mut pieces = Vec::new();
        let mut done = false;
        while !done {
            let event = match stream.next(self.timeouts.silence).await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(failure) => return Err(failure),
            };
            let taken = decoder.push_event(&event, &mut pieces);
            // Deltas before an error are delivered too; the caller discards them with the attempt.
            for piece in pieces.drain(..) {
                let shown = match text_calls.as_deref_mut() {
                    Some(calls) => calls.visible_part(piece),
                    None => Some(piece),
                };
                if let Some(piece) = shown {
                    on(piece);
                }
            }
            done = taken?;
        }
        decoder.finish()
    }

    fn finish_reply(
        &self,
        sent: &SentPrompt<'_>,
        decoded: DecodedReply,
        text_calls: Option<TextCallDecoder>,
        on: &mut (dyn FnMut(ReplyDelta) + Send),
    ) -> ModelReply {
        let SentPrompt { prompt, body } = *sent;
        let DecodedReply {
            mut parts,
            mut stop,
            claim,
            bytes,
            unseen_tokens,
            micro_dollars,
        } = decoded;
        let kind = self.provider.kind;
        let image_bytes = image_bytes(prompt);
        let (usage, usage_estimated) = usage::reconcile(
            claim,
            MeasuredUsage {
                // The tokens of an image depend on its pixels, so its base64 is not counted.
                sent_bytes: to_u64(body.len().saturating_sub(image_bytes)),
                images: tokens::images(prompt),
                received_bytes: to_u64(bytes),
                input_tokens: tokens::scale_for(kind, tokens::prompt(prompt)),
                output_tokens: tokens::scale_for(kind, tokens::parts(&parts)),
                unseen_tokens,
                thought: parts
                    .iter()
                    .any(|part| matches!(part, ContentPart::Thinking { .. })),
            },
        );
        if let Some(calls) = text_calls {
            let (pieces, found, why) = calls.finish(parts, stop);
            pieces.into_iter().for_each(on);
            (parts, stop) = (found, why);
        }
        // Ids must be unique in the conversation: a result names its call by id.
        let taken = history::call_ids(&prompt.messages);
        let repeated_calls = tool_id::make_unique(&mut parts, &taken, body);
        let asks = parts
            .iter()
            .any(|part| matches!(part, ContentPart::ToolCall(_)));
        // Gemini reports STOP also for an answer that holds calls.
        if asks && stop == StopReason::End {
            stop = StopReason::Tools;
        }
        ModelReply {
            parts,
            repeated_calls,
            usage: Some(usage),
            usage_estimated,
            micro_dollars,
            stop,
            model: format!("{}/{}", self.provider.name, self.model),
        }
    }
}

fn image_bytes(prompt: &Prompt) -> usize {
    fn count(parts: &[ContentPart]) -> usize {
        let each = parts.iter().map(|part| match part {
            ContentPart::Image { data, .. } => data.len(),
            ContentPart::ToolResult(result) => count(&result.content),
            _ => 0,
        });
        each.sum()
    }
    let each = prompt.messages.iter().map(|message| count(&message.parts));
    each.sum()
}

fn to_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

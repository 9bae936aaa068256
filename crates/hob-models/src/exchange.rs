//! One attempt at one model: the only place of this crate that sends and waits.

use crate::dialect::{self, Ask, Call, Decoded, Way};
use crate::error::ModelError;
use crate::opencode;
use crate::prompt::{Piece, Prompt, Reply, Stop};
use crate::refusal::{self, Refusal};
use crate::settings::{Provider, Timeouts};
use crate::text_tools::{self, TextCalls};
use crate::usage::{self, Measured};
use crate::{history, tokens, tool_id};
use bytes::Bytes;
use hob_core::failover::ErrorClass;
use hob_kit::failpoint;
use hob_kit::secret::Secret;
use hob_net::{Http, Request, Response, SseEvent, SseReader, StreamBounds};
use hob_wire::content::Part;
use std::borrow::Cow;
use std::time::Duration;

/// All bytes of one answer's stream: the longest answers take some 300 bytes a token.
const STREAM_BYTES_MAX: usize = 128 * 1024 * 1024;
/// How long the end of a stream is waited for after the end of its answer, so that its connection
/// serves again. Who takes longer gets a new one.
const SETTLE_PATIENCE: Duration = Duration::from_millis(20);
/// A list of models is not read beyond this.
pub(crate) const LIST_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Of a refusal only the beginning is of use.
const REFUSAL_BYTES_MAX: usize = 256 * 1024;

/// What an attempt is made with.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) http: &'a Http,
    pub(crate) provider: &'a Provider,
    pub(crate) model: &'a str,
    pub(crate) key: Option<&'a Secret>,
    pub(crate) timeouts: Timeouts,
}

/// What was asked, as a prompt and as the bytes that went out.
struct Sent<'a> {
    prompt: &'a Prompt,
    body: &'a [u8],
}

/// An answer on its way.
struct Coming {
    events: SseReader,
    /// The session whose events are read, where it has one; it ends with this.
    session: Option<opencode::Session>,
}

impl Coming {
    /// The next event of the answer; a session is not heard for others talking.
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

impl Exchange<'_> {
    /// Asks once. Dropping the future closes the connection.
    pub(crate) async fn ask(
        &self,
        prompt: &Prompt,
        on: &mut (dyn FnMut(Piece) + Send),
    ) -> Result<Reply, ModelError> {
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
        on: &mut (dyn FnMut(Piece) + Send),
    ) -> Result<Reply, ModelError> {
        let mut prompt = if self.provider.text_tools {
            Cow::Owned(text_tools::plain(prompt))
        } else {
            Cow::Borrowed(prompt)
        };
        if prompt.model != self.model {
            self.model.clone_into(&mut prompt.to_mut().model);
        }
        let call = self.call(&prompt);
        let body = Bytes::from(call.body.to_string());
        let mut coming = self.open(&call.path, body.clone()).await?;
        let mut text_calls = self.provider.text_tools.then(TextCalls::default);
        let decoded = self.read(&mut coming, text_calls.as_mut(), on).await?;
        if coming.session.is_none() {
            coming.events.settle(SETTLE_PATIENCE).await;
        }
        let sent = Sent {
            prompt: &prompt,
            body: &body,
        };
        Ok(self.conclude(&sent, decoded, text_calls, on))
    }

    fn call(&self, prompt: &Prompt) -> Call {
        let (said, turns) = history::turns(&prompt.messages);
        let mut system = prompt.system.clone();
        system.extend(said);
        system.retain(|layer| !layer.trim().is_empty());
        dialect::of(self.provider.kind).call(&Ask {
            prompt,
            system: &system,
            turns: &turns,
            quirks: &self.provider.quirks,
        })
    }

    /// Asks, and gives what is then read.
    async fn open(&self, path: &str, body: Bytes) -> Result<Coming, ModelError> {
        match dialect::of(self.provider.kind).way() {
            Way::Post => {
                let request = Request::post(self.url(path), body)
                    .header("content-type", "application/json")
                    .header("accept", "text/event-stream");
                let sent = self.http.send(self.dress(request)).await?;
                Ok(Coming {
                    events: self.stream(sent).await?,
                    session: None,
                })
            }
            Way::Session => {
                let (session, events) = opencode::open(self, body).await?;
                Ok(Coming {
                    events,
                    session: Some(session),
                })
            }
        }
    }

    /// Sends something, which is refused unless it is taken.
    pub(crate) async fn post(&self, path: &str, body: Bytes) -> Result<Response, ModelError> {
        let request = Request::post(self.url(path), body);
        let request = request.header("content-type", "application/json");
        let response = self.http.send(self.dress(request)).await?;
        match response.status() {
            200..=299 => Ok(response),
            _ => Err(self.refused(response).await),
        }
    }

    /// Opens a stream of events that no answer ends.
    pub(crate) async fn listen(&self, path: &str) -> Result<SseReader, ModelError> {
        let request = Request::get(self.url(path)).header("accept", "text/event-stream");
        self.stream(self.http.send(self.dress(request)).await?)
            .await
    }

    /// Fetches a page of the provider's models.
    pub(crate) async fn fetch(&self, path: &str, bytes_max: usize) -> Result<String, ModelError> {
        let request = Request::get(self.url(path)).header("accept", "application/json");
        let response = self.http.send(self.dress(request)).await?;
        if response.status() != 200 {
            return Err(self.refused(response).await);
        }
        Ok(response.text(self.timeouts.silence, bytes_max).await?)
    }

    /// The first model the provider lists; none where it lists none, or cannot be understood.
    pub(crate) async fn first_model(&self) -> Option<String> {
        let dialect = dialect::of(self.provider.kind);
        let body = self.fetch(dialect.list_path(), LIST_BYTES_MAX).await.ok()?;
        let page = dialect.read_list(&dialect::json(&body).ok()?)?;
        page.models.into_iter().next().map(|model| model.name)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        let base = dialect::of(self.provider.kind).base(&self.provider.url);
        format!("{base}{path}")
    }

    pub(crate) fn dress(&self, request: Request) -> Request {
        let dialect = dialect::of(self.provider.kind);
        let mut request = request.head_timeout(self.timeouts.silence);
        for (name, value) in dialect.headers().iter().chain(self.provider.quirks.headers) {
            request = request.header(*name, *value);
        }
        match self.key {
            Some(key) => dialect.authorize(request, key),
            None => request,
        }
    }

    async fn stream(&self, response: Response) -> Result<SseReader, ModelError> {
        if response.status() != 200 {
            return Err(self.refused(response).await);
        }
        let kind = response.header("content-type").unwrap_or_default();
        if kind.starts_with("application/json") || kind.starts_with("text/html") {
            // An answer in one piece: as good as always an error that forgot its status.
            let text = response
                .text(self.timeouts.silence, REFUSAL_BYTES_MAX)
                .await?;
            if text.contains("\"error\"") {
                return Err(refusal::read(Refusal {
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

    async fn refused(&self, response: Response) -> ModelError {
        let status = response.status();
        let retry_after_ms = response.retry_after_ms();
        let body = response
            .text(self.timeouts.silence, REFUSAL_BYTES_MAX)
            .await;
        // The status says enough where the body cannot be had.
        let body = body.unwrap_or_default();
        refusal::read(Refusal {
            status,
            body: &body,
            retry_after_ms,
        })
    }

    async fn read(
        &self,
        coming: &mut Coming,
        mut text_calls: Option<&mut TextCalls>,
        on: &mut (dyn FnMut(Piece) + Send),
    ) -> Result<Decoded, ModelError> {
        let mut decoder = dialect::of(self.provider.kind).decoder();
        let mut pieces = Vec::new();
        let mut done = false;
        while !done {
            let event = match coming.next(self.timeouts.silence).await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(_) if failpoint::broken(53) => break,
                Err(failure) => return Err(failure),
            };
            let taken = decoder.event(&event, &mut pieces);
            for piece in pieces.drain(..) {
                let shown = match text_calls.as_deref_mut() {
                    Some(calls) => calls.piece(piece),
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

    fn conclude(
        &self,
        sent: &Sent<'_>,
        decoded: Decoded,
        text_calls: Option<TextCalls>,
        on: &mut (dyn FnMut(Piece) + Send),
    ) -> Reply {
        let Sent { prompt, body } = *sent;
        let Decoded {
            mut parts,
            mut stop,
            claim,
            bytes,
            unseen_tokens,
            micro_dollars,
        } = decoded;
        let kind = self.provider.kind;
        let image_bytes = image_bytes(prompt);
        let (usage, usage_estimated) = usage::settle(
            claim,
            Measured {
                sent_bytes: to_u64(body.len().saturating_sub(image_bytes)),
                images: tokens::images(prompt),
                received_bytes: to_u64(bytes),
                input_tokens: tokens::weighed(kind, tokens::prompt(prompt)),
                output_tokens: tokens::weighed(kind, tokens::parts(&parts)),
                unseen_tokens,
                thought: parts
                    .iter()
                    .any(|part| matches!(part, Part::Thinking { .. })),
            },
        );
        if let Some(calls) = text_calls {
            let (pieces, found, why) = calls.finish(parts, stop);
            pieces.into_iter().for_each(on);
            (parts, stop) = (found, why);
        }
        let taken = history::call_ids(&prompt.messages);
        let repeated_calls = tool_id::make_unique(&mut parts, &taken, body);
        let asks = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        if asks && stop == Stop::End {
            stop = Stop::Tools;
        }
        Reply {
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
    fn count(parts: &[Part]) -> usize {
        let each = parts.iter().map(|part| match part {
            Part::Image { data, .. } => data.len(),
            Part::ToolResult(result) => count(&result.content),
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

//! Tests a model by asking it for one word. The call costs money, so the ledger has it like any
//! other.

use super::ModelContext;
use hob_core::failover::ErrorClass;
use hob_models::{
    ModelCandidate, ModelError, ModelReply, Prompt, PromptMessage, ReplyDelta, price,
};
use hob_store::{CostReservation, LedgerEntry, LedgerWrite};
use hob_wire::content::{ContentPart, Role, TokenUsage};
use hob_wire::rooms::agent::SamplingParams;
use hob_wire::rooms::model::{ModelTestParams, ModelTestResult};
use hob_wire::{ErrorCode, WireError};
use std::time::Duration;

/// The prompt of the test.
const QUESTION: &str = "This is a test of the connection. Answer with the one word: ready";
/// Enough for the word, and for a model that reasons first.
const OUTPUT_TOKENS_MAX: u32 = 512;
/// Time for one model to answer.
const WAIT: Duration = Duration::from_mins(1);
/// The most models of an alias that are tried.
const TRIES_MAX: usize = 4;
const ANSWER_CHARS_MAX: usize = 200;

/// Tests a model, or the models of an alias until one answers.
pub(super) async fn test(
    context: &ModelContext,
    params: ModelTestParams,
) -> Result<ModelTestResult, WireError> {
    let wanted = params.model.as_str();
    let candidates = context
        .book()
        .resolve(Some(wanted))
        .map_err(|error| WireError::new(ErrorCode::NotFound, error.to_string()))?;
    let mut failures = Vec::new();
    let mut last = None;
    for candidate in candidates.iter().take(TRIES_MAX) {
        let tested = try_one(context, candidate).await?;
        if tested.ok {
            return Ok(tested);
        }
        failures.push(tested.message.clone());
        last = Some(tested);
    }
    let mut tested = last.ok_or_else(|| {
        let message = format!("'{wanted}' names no model.");
        WireError::new(ErrorCode::NotFound, message)
    })?;
    // All failures are shown, because each model may have failed for another reason.
    tested.message = failures.join(" ");
    Ok(tested)
}

async fn try_one(
    context: &ModelContext,
    candidate: &ModelCandidate,
) -> Result<ModelTestResult, WireError> {
    let prompt = Prompt {
        messages: vec![PromptMessage::text(Role::User, QUESTION)],
        options: SamplingParams {
            max_output_tokens: Some(OUTPUT_TOKENS_MAX),
            ..SamplingParams::default()
        },
        ..Prompt::default()
    };
    let clock = &context.deps.clock;
    let call_key = format!("test:{}", context.deps.randomness.uuid(clock.wall_ms()));
    // Reserved before the call, so that a crash in between leaves its cost in the ledger.
    reserve(context, candidate, &prompt, &call_key).await?;
    let begun_ms = clock.monotonic_ms();
    let mut first_ms = None;
    let mut on = |piece: ReplyDelta| {
        // The name of a server is no part of the model's answer.
        if !matches!(piece, ReplyDelta::Server { .. }) {
            first_ms.get_or_insert_with(|| clock.monotonic_ms());
        }
    };
    let asked = tokio::time::timeout(WAIT, candidate.ask(&prompt, &mut on)).await;
    let ended_ms = clock.monotonic_ms();
    let answer = asked.unwrap_or_else(|_| {
        Err(ModelError {
            class: ErrorClass::Timeout,
            message: format!(
                "{}: no answer within {} seconds.",
                candidate.id(),
                WAIT.as_secs()
            ),
            retry_after_ms: None,
        })
    });
    settle(context, candidate, call_key, &answer).await?;
    let (ok, message) = match &answer {
        Ok(reply) => (true, answer_excerpt(reply)),
        Err(error) => (false, error.message.clone()),
    };
    Ok(ModelTestResult {
        model: candidate.id(),
        ok,
        message,
        first_token_ms: first_ms.map(|first_ms| first_ms.saturating_sub(begun_ms)),
        total_ms: ended_ms.saturating_sub(begun_ms),
    })
}

async fn reserve(
    context: &ModelContext,
    candidate: &ModelCandidate,
    prompt: &Prompt,
    call_key: &str,
) -> Result<(), WireError> {
    let most = TokenUsage {
        input_tokens: candidate.count_prompt(prompt),
        output_tokens: u64::from(OUTPUT_TOKENS_MAX),
        cached_tokens: 0,
    };
    let entry = LedgerEntry {
        reserve: Some(CostReservation {
            call_key: call_key.to_owned(),
            model: candidate.id(),
            micro_dollars: cost(candidate, &most),
            ceilings: hob_store::SpendingCeilings::default(),
        }),
        ..LedgerEntry::default()
    };
    Ok(context.deps.store.add_ledger(entry).await?)
}

/// Settles the call in the ledger. A refused call costs nothing; the cost of a broken one is
/// unknown.
async fn settle(
    context: &ModelContext,
    candidate: &ModelCandidate,
    call_key: String,
    answer: &Result<ModelReply, ModelError>,
) -> Result<(), WireError> {
    let took = |usage: TokenUsage| LedgerWrite::Settle {
        call_key: call_key.clone(),
        micro_dollars: cost(candidate, &usage),
        usage,
        model: candidate.id(),
    };
    let write = match answer {
        Ok(reply) => took(reply.usage.unwrap_or_default()),
        Err(error) => match error.class {
            // The provider refused these before it did any work.
            ErrorClass::Auth | ErrorClass::Rate | ErrorClass::Context | ErrorClass::Request => {
                took(TokenUsage::default())
            }
            _ => LedgerWrite::Unknown { call_key },
        },
    };
    let entry = LedgerEntry {
        writes: vec![write],
        ..LedgerEntry::default()
    };
    Ok(context.deps.store.add_ledger(entry).await?)
}

fn cost(candidate: &ModelCandidate, usage: &TokenUsage) -> Option<u64> {
    let price = candidate.facts().price?;
    Some(price::cost(&price, usage))
}

/// Returns the beginning of the model's answer.
fn answer_excerpt(reply: &ModelReply) -> String {
    let texts = reply.parts.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join(" ");
    let text = text.trim();
    if text.is_empty() {
        return "(no text)".to_owned();
    }
    text.chars().take(ANSWER_CHARS_MAX).collect()
}

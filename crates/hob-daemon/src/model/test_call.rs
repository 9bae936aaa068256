//! Asking a model for one word. It costs what it costs, so the ledger has it like any other call.

use super::Shared;
use hob_core::failover::ErrorClass;
use hob_models::{Candidate, ModelError, Piece, Prompt, PromptMessage, Reply, price};
use hob_store::{LedgerEntry, LedgerWrite, Reserve};
use hob_wire::content::{Part, Role, Usage};
use hob_wire::rooms::agent::Sampling;
use hob_wire::rooms::model::Tested;
use hob_wire::{ErrorCode, WireError};
use std::time::Duration;

/// What is asked.
const QUESTION: &str = "This is a test of the connection. Answer with the one word: ready";
/// Room for the word, and for a model that thinks before it.
const OUTPUT_TOKENS_MAX: u32 = 512;
/// How long one model may take.
const WAIT: Duration = Duration::from_mins(1);
/// Models of an alias that are tried.
const TRIES_MAX: usize = 4;
const WORDS_CHARS_MAX: usize = 200;

/// Tests the model, or the first of an alias that answers.
pub(super) async fn test(shared: &Shared, wanted: &str) -> Result<Tested, WireError> {
    let candidates = shared
        .book()
        .resolve(Some(wanted))
        .map_err(|error| WireError::new(ErrorCode::NotFound, error.to_string()))?;
    let mut failures = Vec::new();
    let mut last = None;
    for candidate in candidates.iter().take(TRIES_MAX) {
        let tested = try_one(shared, candidate).await?;
        if tested.ok {
            return Ok(tested);
        }
        failures.push(tested.message.clone());
        last = Some(tested);
    }
    let mut tested = last.ok_or_else(|| {
        let message = format!("'{wanted}' stands for no model.");
        WireError::new(ErrorCode::NotFound, message)
    })?;
    tested.message = failures.join(" ");
    Ok(tested)
}

async fn try_one(shared: &Shared, candidate: &Candidate) -> Result<Tested, WireError> {
    let prompt = Prompt {
        messages: vec![PromptMessage::text(Role::User, QUESTION)],
        options: Sampling {
            max_output_tokens: Some(OUTPUT_TOKENS_MAX),
            ..Sampling::default()
        },
        ..Prompt::default()
    };
    let clock = &shared.parts.clock;
    let call_key = format!("test:{}", shared.parts.dice.uuid(clock.wall_ms()));
    reserve(shared, candidate, &prompt, &call_key).await?;
    let begun_ms = clock.monotonic_ms();
    let mut first_ms = None;
    let mut on = |piece: Piece| {
        if !matches!(piece, Piece::Server { .. }) {
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
    settle(shared, candidate, call_key, &answer).await?;
    let (ok, message) = match &answer {
        Ok(reply) => (true, words(reply)),
        Err(error) => (false, error.message.clone()),
    };
    Ok(Tested {
        model: candidate.id(),
        ok,
        message,
        first_token_ms: first_ms.map(|first_ms| first_ms.saturating_sub(begun_ms)),
        total_ms: ended_ms.saturating_sub(begun_ms),
    })
}

async fn reserve(
    shared: &Shared,
    candidate: &Candidate,
    prompt: &Prompt,
    call_key: &str,
) -> Result<(), WireError> {
    let most = Usage {
        input_tokens: candidate.count_prompt(prompt),
        output_tokens: u64::from(OUTPUT_TOKENS_MAX),
        cached_tokens: 0,
    };
    let entry = LedgerEntry {
        reserve: Some(Reserve {
            call_key: call_key.to_owned(),
            model: candidate.id(),
            micro_dollars: cost(candidate, &most),
            ceilings: hob_store::Ceilings::default(),
        }),
        ..LedgerEntry::default()
    };
    Ok(shared.parts.store.add_ledger(entry).await?)
}

/// Enters what the call took. One that was refused took nothing; of one that broke nobody knows.
async fn settle(
    shared: &Shared,
    candidate: &Candidate,
    call_key: String,
    answer: &Result<Reply, ModelError>,
) -> Result<(), WireError> {
    let took = |usage: Usage| LedgerWrite::Settle {
        call_key: call_key.clone(),
        micro_dollars: cost(candidate, &usage),
        usage,
        model: candidate.id(),
    };
    let write = match answer {
        Ok(reply) => took(reply.usage.unwrap_or_default()),
        Err(error) => match error.class {
            ErrorClass::Auth | ErrorClass::Rate | ErrorClass::Context | ErrorClass::Request => {
                took(Usage::default())
            }
            _ => LedgerWrite::Unknown { call_key },
        },
    };
    let entry = LedgerEntry {
        writes: vec![write],
        ..LedgerEntry::default()
    };
    Ok(shared.parts.store.add_ledger(entry).await?)
}

fn cost(candidate: &Candidate, usage: &Usage) -> Option<u64> {
    let price = candidate.facts().price?;
    Some(price::cost(&price, usage))
}

/// What the model said, in short.
fn words(reply: &Reply) -> String {
    let texts = reply.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let said = texts.collect::<Vec<_>>().join(" ");
    let said = said.trim();
    if said.is_empty() {
        return "(no words)".to_owned();
    }
    said.chars().take(WORDS_CHARS_MAX).collect()
}

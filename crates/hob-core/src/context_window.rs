//! Cuts a history to the turns that fit a model's context window. Pure.
//!
//! A turn is a person's message and everything up to the next one. Leaving out whole turns never
//! separates a tool call from its result. Invariants: the newest turn always stays; the kept part
//! is an unbroken tail; the same history and window always give the same cut.

/// The size of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageWeight {
    pub tokens: u64,
    /// True if a turn begins with it.
    pub opens_turn: bool,
}

/// The place where the history is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryCut {
    /// Messages before this index are left out.
    pub first_kept: usize,
    /// Turns left out.
    pub turns_left_out: usize,
    /// True if even the newest turn alone does not fit.
    pub too_large: bool,
}

/// Cuts a history to `room_tokens`.
pub fn cut_history(messages: &[MessageWeight], room_tokens: u64) -> HistoryCut {
    // A history that does not begin with a person's message still begins with a turn.
    let opens: Vec<usize> = (0..messages.len())
        .filter(|&index| index == 0 || messages[index].opens_turn)
        .collect();
    let mut used = 0_u64;
    let mut first = messages.len();
    let mut kept = 0;
    for &open in opens.iter().rev() {
        let turn: u64 = messages[open..first]
            .iter()
            .map(|message| message.tokens)
            .sum();
        // The newest turn stays even if it is too large: without it there is nothing to answer.
        if kept > 0 && used.saturating_add(turn) > room_tokens {
            break;
        }
        used = used.saturating_add(turn);
        first = open;
        kept += 1;
    }
    HistoryCut {
        first_kept: first,
        turns_left_out: opens.len() - kept,
        too_large: used > room_tokens,
    }
}

/// Estimates tokens for models with an unknown tokenizer: four bytes a token, never zero.
pub fn estimate_tokens(text_bytes: usize) -> u64 {
    u64::try_from(text_bytes.div_ceil(4))
        .unwrap_or(u64::MAX)
        .max(1)
}

#[cfg(test)]
#[path = "context_window_tests.rs"]
mod tests;

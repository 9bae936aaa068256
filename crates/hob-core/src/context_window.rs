//! Which turns of a history fit a model's window. Pure.
//!
//! A turn is a person's message and all that follows until the next: leaving out whole turns never
//! parts a tool call from its result. Invariants: the newest turn always stays, what stays is an
//! unbroken tail, and the same history and window always give the same cut.

/// One message as far as the cut is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    pub tokens: u64,
    /// Whether a turn begins with it.
    pub opens_turn: bool,
}

/// Where the history is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Messages before this index are left out.
    pub first: usize,
    /// Turns left out.
    pub turns_left_out: usize,
    /// Whether even the newest turn alone is larger than the room.
    pub too_large: bool,
}

/// Cuts a history to `room_tokens`.
pub fn cut(messages: &[Weight], room_tokens: u64) -> Cut {
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
        if kept > 0 && used.saturating_add(turn) > room_tokens {
            break;
        }
        used = used.saturating_add(turn);
        first = open;
        kept += 1;
    }
    Cut {
        first,
        turns_left_out: opens.len() - kept,
        too_large: used > room_tokens,
    }
}

/// A rough count for models whose tokenizer is not known: four bytes a token, never zero.
pub fn estimate_tokens(text_bytes: usize) -> u64 {
    u64::try_from(text_bytes.div_ceil(4))
        .unwrap_or(u64::MAX)
        .max(1)
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;

//! What must hold in every world, found out from what is on disk and from the calendar alone.

use super::store::State;
use super::world::World;
use hob_core::schedule::WorkRepeatability;

/// What must hold at any moment: no due time has its effect twice.
pub(super) fn check(world: &World) -> Result<(), String> {
    for ((job, due_ms), effects) in &world.store.effects {
        if *effects > 1 {
            let of = &world.jobs[*job];
            return Err(format!(
                "doubled: {} in {} was run {effects} times for {due_ms}",
                of.line, of.zone
            ));
        }
    }
    Ok(())
}

/// What must hold at the end; counts what happened.
pub(super) fn judge(world: &World) -> Result<(), String> {
    check(world)?;
    for (job, of) in world.jobs.iter().enumerate() {
        let wrong = |what: String| format!("{} in {} ({:?}): {what}", of.line, of.zone, of.policy);
        let back_ms_max = of.calendar.clock_back_ms_max();
        let mut cursor_ms = None;
        for decided in &world.store.decided[job] {
            // What was decided follows on what was decided before, unless the clock was far off.
            let is_next = cursor_ms.is_none_or(|cursor| cursor == decided.after_ms);
            let was_reset = cursor_ms.is_some_and(|cursor| decided.after_ms + back_ms_max < cursor);
            let was_shifted = world.store.shifts[job].contains(&decided.after_ms);
            if !is_next && !was_reset && !was_shifted {
                let hole = format!("silently missed: from {cursor_ms:?} to {decided:?}");
                return Err(wrong(hole));
            }
            cursor_ms = Some(decided.to_ms);
            let calendar = of.calendar.anchored_at(decided.after_ms);
            let passed = calendar.passed(decided.after_ms, decided.to_ms, None);
            let is_exact = !passed.is_estimate && !decided.rough;
            if is_exact && passed.inside.count != decided.counted {
                let counted = passed.inside.count;
                return Err(wrong(format!(
                    "silently missed: {counted} were due, {decided:?}"
                )));
            }
        }
        let cursor = world.store.cursors[job];
        let was_shifted = world.store.shifts[job].contains(&cursor);
        let is_hole = |decided: u64| decided < cursor && decided + back_ms_max >= cursor;
        if cursor_ms.is_some_and(is_hole) && !was_shifted {
            let hole = format!("silently missed: decided to {cursor_ms:?}, cursor {cursor}");
            return Err(wrong(hole));
        }
        let calendar = of.calendar.anchored_at(cursor);
        let next = calendar.next_within(cursor, of.policy.hours.as_ref());
        if next.is_some_and(|next| next <= world.looked_ms) {
            return Err(wrong(format!(
                "silently missed: {next:?} was never decided"
            )));
        }
    }
    for (index, slot) in world.store.slots.iter().enumerate() {
        let effects = world
            .store
            .effects
            .get(&(slot.job, slot.due_ms))
            .copied()
            .unwrap_or(0);
        let is_keyed = world.jobs[slot.job].tribe == WorkRepeatability::Keyed;
        let holds = match slot.state {
            State::Due | State::Running => false,
            State::Ran => effects == 1,
            State::Failed if is_keyed => effects == 1,
            State::Failed | State::Stopped => effects <= 1,
            State::Skipped | State::Missed => effects == 0,
        };
        if !holds {
            return Err(format!("slot {index} has {effects} effects: {slot:?}"));
        }
    }
    Ok(())
}

impl World {
    /// Counts what is on disk.
    pub(super) fn counted(mut self) -> super::world::Tally {
        for slot in &self.store.slots {
            let times = 1 + slot.stands_for;
            self.tally.due += times;
            match slot.state {
                State::Ran | State::Failed | State::Stopped => self.tally.ran += 1,
                State::Skipped => self.tally.skipped += times,
                State::Missed => self.tally.missed += times,
                State::Due | State::Running => {}
            }
        }
        self.tally
    }
}

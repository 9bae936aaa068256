//! Every crate has a floor and depends only on floors below; what reaches around the wall (SQL,
//! HTTP listeners, the command line) is held by one room each.

use super::Finding;
use crate::workspace::{Dependency, Member, Workspace};

/// From the ground up.
const FLOORS: &[&str] = &[
    "words",
    "mind",
    "hands",
    "shelves",
    "house",
    "threshold",
    "doors",
    "workshop",
];

/// Two crates of one floor of which the first may use the second, each with its reason beside it.
const SAME_FLOOR: &[(&str, &str)] = &[];

/// A crate on this floor sees only these floors, besides being above them. The client and the
/// faces talk to the daemon over the wire: they never link what is behind it.
const SIGHT: &[(&str, &[&str])] = &[
    ("threshold", &["words", "mind"]),
    ("doors", &["words", "threshold"]),
];

/// The composition root: it joins the rooms, so it sees them all.
const ROOT: &str = "hob";

/// A crate from outside and the only rooms that may use it; tests may always.
const HELD: &[(&str, &[&str])] = &[
    ("rusqlite", &["hob-store", "hob-bench"]),
    ("axum", &["hob-gateway", "hob-services"]),
    ("hyper", &["hob-gateway", "hob-sim"]),
    (
        "tokio-tungstenite",
        &["hob-gateway", "hob-client", "hob-bench"],
    ),
    ("toml_edit", &["hob-kit", "hob-services"]),
    ("clap", &["hob", "hob-bench", "hob-sim"]),
    ("anyhow", &["hob", "hob-bench", "xtask"]),
];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        let Some(floor) = floor_of(member) else {
            findings.push(Finding::new(
                &member.manifest,
                1,
                format!("`{}` has no floor", member.name),
                "Add `[package.metadata.hob] floor = \"…\"` with a floor of ARCHITECTURE.md.",
            ));
            continue;
        };
        let shipped = member.dependencies.iter().filter(|found| !found.dev);
        for dependency in shipped {
            findings.extend(upward(workspace, member, floor, dependency));
            findings.extend(unheld(member, dependency));
        }
    }
    findings
}

fn upward(
    workspace: &Workspace,
    member: &Member,
    floor: usize,
    dependency: &Dependency,
) -> Option<Finding> {
    let below = workspace.member(&dependency.name)?;
    let pair = (member.name.as_str(), below.name.as_str());
    let below_floor = floor_of(below)?;
    let is_below = below_floor < floor || SAME_FLOOR.contains(&pair);
    if is_below && (member.name == ROOT || sees(FLOORS[floor], FLOORS[below_floor])) {
        return None;
    }
    Some(Finding::new(
        &member.manifest,
        member.line_of(&dependency.name),
        format!(
            "`{}` ({}) depends on `{}` ({})",
            member.name, FLOORS[floor], below.name, FLOORS[below_floor]
        ),
        "Depend downward: move the shared part to a lower floor, or call it over the bus.",
    ))
}

fn unheld(member: &Member, dependency: &Dependency) -> Option<Finding> {
    let (_, rooms) = HELD.iter().find(|(name, _)| *name == dependency.name)?;
    if rooms.contains(&member.name.as_str()) {
        return None;
    }
    Some(Finding::new(
        &member.manifest,
        member.line_of(&dependency.name),
        format!("`{}` uses `{}` itself", member.name, dependency.name),
        "Go through the room that holds it (xtask/src/tidy/floors.rs, `HELD`).",
    ))
}

fn sees(floor: &str, below: &str) -> bool {
    let sight = SIGHT.iter().find(|(name, _)| *name == floor);
    sight.is_none_or(|(_, floors)| floors.contains(&below))
}

fn floor_of(member: &Member) -> Option<usize> {
    let floor = member.floor.as_deref()?;
    FLOORS.iter().position(|name| *name == floor)
}

#[cfg(test)]
#[path = "floors_tests.rs"]
mod tests;

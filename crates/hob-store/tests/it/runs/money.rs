//! Money: reserved before, settled after, never beyond a ceiling.

use super::rig::{reserve, run, settle, step};
use crate::support::{Home, Open, together};
use hob_kit::clock::Clock;
use hob_store::{BudgetScope, LedgerEntry, LedgerWrite, SpendingCeilings, StoreError};
use hob_wire::rooms::agent::{Cost, RunState};
use hob_wire::rooms::cost::CostSummaryParams;
use proptest::prelude::*;
use std::sync::Arc;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// 2026-11-15.
const TODAY: u64 = 20_772;

fn at_day() -> Home {
    let mut home = Home::new();
    home.clock = Clock::manual(TODAY * DAY_MS + 1_000);
    home
}

async fn total(store: &Open, home: &Home) -> Cost {
    let days = CostSummaryParams {
        days: Some(1_000),
        session_key: None,
    };
    let costs = store.cost_summary(days, home.clock.wall_ms()).await;
    costs.unwrap().total
}

fn day(limit: u64) -> SpendingCeilings {
    SpendingCeilings {
        day: Some(limit),
        ..SpendingCeilings::default()
    }
}

#[tokio::test]
async fn what_is_reserved_counts_until_it_is_settled() {
    let home = at_day();
    let store = home.open();
    let run = store.accept(run("s", "x")).await;
    let mut begin = step(&run, 0, RunState::Running);
    begin.reserve = Some(reserve("r/1/1", Some(60), day(100)));
    store.write_step(begin).await.unwrap();
    assert_eq!(total(&store, &home).await.micro_dollars, Some(60));

    let mut second = step(&run, 1, RunState::Running);
    second.reserve = Some(reserve("r/1/2", Some(41), day(100)));
    let over = store.write_step(second.clone()).await.unwrap_err();
    let expected = StoreError::OverBudget {
        scope: BudgetScope::Day,
        limit: 100,
        spent: 60,
    };
    assert_eq!(over, expected);
    assert_eq!(store.run(&run.id).await.unwrap().journal_len, 1);
    assert_eq!(total(&store, &home).await.calls, 1);

    // Settling for less, in the same write, makes room.
    second.ledger = vec![settle("r/1/1", Some(59))];
    store.write_step(second).await.unwrap();
    let mut end = step(&run, 2, RunState::Done);
    end.ledger = vec![settle("r/1/2", Some(5))];
    store.write_step(end).await.unwrap();
    let spent = Cost {
        micro_dollars: Some(64),
        input_tokens: 200,
        output_tokens: 20,
        calls: 2,
    };
    assert_eq!(total(&store, &home).await, spent);
    assert_eq!(store.run_stats().await.unwrap().cost, spent);
    store.close().await;
    assert!(crate::support::verify(&home.database()).problems.is_empty());
}

#[tokio::test]
async fn each_ceiling_counts_its_own() {
    let home = at_day();
    let store = home.open();
    let pay = async |session: &str, key: &str, amount: u64, ceilings: SpendingCeilings| {
        let entry = LedgerEntry {
            session: Some(session.to_owned()),
            writes: Vec::new(),
            reserve: Some(reserve(key, Some(amount), ceilings)),
        };
        store.add_ledger(entry).await
    };
    let session = |limit| SpendingCeilings {
        session: Some(limit),
        ..SpendingCeilings::default()
    };
    let total = |limit| SpendingCeilings {
        total: Some(limit),
        ..SpendingCeilings::default()
    };
    let over = |scope, limit, spent| StoreError::OverBudget {
        scope,
        limit,
        spent,
    };
    store.create("a").await;
    store.create("b").await;
    pay("a", "1", 50, session(50)).await.unwrap();
    let refused = pay("a", "2", 1, session(50)).await.unwrap_err();
    assert_eq!(refused, over(BudgetScope::Session, 50, 50));
    pay("b", "2", 30, session(50)).await.unwrap();
    let refused = pay("b", "3", 21, day(100)).await.unwrap_err();
    assert_eq!(refused, over(BudgetScope::Day, 100, 80));
    home.clock.advance(DAY_MS);
    pay("b", "3", 100, day(100)).await.unwrap();
    let refused = pay("b", "4", 1, total(180)).await.unwrap_err();
    assert_eq!(refused, over(BudgetScope::Total, 180, 180));
    assert!(refused.to_string().contains("$0.00018"), "{refused}");
    // What costs nothing is allowed, what may cost anything is not.
    pay("b", "4", 0, total(180)).await.unwrap();
    let unknown = LedgerEntry {
        reserve: Some(reserve("5", None, total(180))),
        ..LedgerEntry::default()
    };
    store.add_ledger(unknown).await.unwrap_err();
    store.close().await;
}

#[tokio::test]
async fn a_call_is_reserved_once_and_settled_once() {
    let home = at_day();
    let store = home.open();
    let add = async |writes: Vec<LedgerWrite>, key: Option<&str>| {
        let entry = LedgerEntry {
            session: None,
            writes,
            reserve: key.map(|key| reserve(key, Some(10), SpendingCeilings::default())),
        };
        store.add_ledger(entry).await
    };
    let unknown = |key: &str| LedgerWrite::Unknown {
        call_key: key.to_owned(),
    };
    add(vec![], Some("a")).await.unwrap();
    add(vec![], Some("b")).await.unwrap();
    add(vec![settle("a", Some(1)), unknown("b")], None)
        .await
        .unwrap();
    let wrong = [
        (vec![], Some("a")),
        (vec![settle("a", Some(1))], None),
        (vec![unknown("a")], None),
        (vec![unknown("b")], None),
        (vec![settle("b", Some(2))], None),
        (vec![settle("c", None), settle("c", None)], None),
        (vec![settle("c", None)], Some("c")),
    ];
    for (writes, key) in wrong {
        let told = format!("{writes:?} {key:?}");
        let error = add(writes, key).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Conflict(_)),
            "{told}: {error:?}"
        );
    }
    let never = add(vec![unknown("never")], None).await.unwrap_err();
    assert!(matches!(never, StoreError::NotFound(_)), "{never:?}");
    let sum = total(&store, &home).await;
    assert_eq!((sum.calls, sum.micro_dollars), (2, Some(11)));
    // One that was never reserved is entered as it is, and so is one without a price.
    add(vec![settle("c", None)], None).await.unwrap();
    assert_eq!(total(&store, &home).await.micro_dollars, Some(11));
    store.close().await;
}

#[tokio::test]
async fn sums_are_by_day_model_and_session() {
    let home = at_day();
    let store = home.open();
    store.create("a").await;
    let paid = |session: Option<&str>, key: &str, model: &str, amount: Option<u64>| {
        let mut write = settle(key, amount);
        if let LedgerWrite::Settle {
            model: answered, ..
        } = &mut write
        {
            model.clone_into(answered);
        }
        LedgerEntry {
            session: session.map(ToOwned::to_owned),
            writes: vec![write],
            reserve: None,
        }
    };
    store
        .add_ledger(paid(Some("a"), "1", "x/dear", Some(9)))
        .await
        .unwrap();
    store
        .add_ledger(paid(None, "2", "x/cheap", Some(1)))
        .await
        .unwrap();
    home.clock.advance(DAY_MS);
    store
        .add_ledger(paid(Some("a"), "3", "y/local", None))
        .await
        .unwrap();
    // One that fell back to another model is counted under the one that answered.
    let reserved = LedgerEntry {
        session: Some("a".to_owned()),
        writes: Vec::new(),
        reserve: Some(reserve("4", Some(50), SpendingCeilings::default())),
    };
    store.add_ledger(reserved).await.unwrap();
    home.clock.advance(DAY_MS);
    store
        .add_ledger(paid(Some("a"), "4", "x/cheap", Some(2)))
        .await
        .unwrap();

    let sums = async |days: Option<u32>, session: Option<&str>| {
        let params = CostSummaryParams {
            days,
            session_key: session.map(ToOwned::to_owned),
        };
        let costs = store.cost_summary(params, home.clock.wall_ms()).await;
        let costs = costs.unwrap();
        let rows = costs.days.iter().chain(&costs.models);
        let rows = rows.map(|row| (row.name.clone(), row.cost.micro_dollars, row.unpriced));
        (costs.total.calls, rows.collect::<Vec<_>>())
    };
    let row = |name: &str, money, unpriced| (name.to_owned(), money, unpriced);
    let everything = vec![
        row("2026-11-15", Some(10), 0),
        row("2026-11-16", Some(2), 1),
        row("x/dear", Some(9), 0),
        row("x/cheap", Some(3), 0),
        row("y/local", None, 1),
    ];
    assert_eq!(sums(None, None).await, (4, everything));
    let of_session = vec![
        row("2026-11-16", Some(2), 1),
        row("x/cheap", Some(2), 0),
        row("y/local", None, 1),
    ];
    assert_eq!(sums(Some(2), Some("a")).await, (2, of_session));
    assert_eq!(sums(Some(1), None).await, (0, Vec::new()));
    store.close().await;
}

#[tokio::test]
async fn calls_at_once_never_overrun_a_ceiling() {
    const CALLERS: usize = 64;
    const LIMIT: u64 = 1_000;
    let home = at_day();
    let store = Arc::new(home.open());
    let allowed = together(CALLERS, |caller| {
        let store = Arc::clone(&store);
        let amount = 7 + caller as u64 % 5;
        async move {
            let run = store.accept(run(&format!("s{}", caller % 16), "x")).await;
            let mut allowed = 0;
            for call in 0..8 {
                let entry = LedgerEntry {
                    session: Some(run.session_key.clone()),
                    writes: Vec::new(),
                    reserve: Some(reserve(
                        &format!("{caller}/{call}"),
                        Some(amount),
                        SpendingCeilings {
                            session: Some(80),
                            day: Some(LIMIT),
                            total: Some(LIMIT),
                        },
                    )),
                };
                match store.add_ledger(entry).await {
                    Ok(()) => allowed += amount,
                    Err(StoreError::OverBudget { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            allowed
        }
    })
    .await;
    let allowed: u64 = allowed.into_iter().sum();
    assert!(allowed <= LIMIT, "{allowed}");
    assert!(allowed > LIMIT - 11, "the ceiling was reached: {allowed}");
    assert_eq!(total(&store, &home).await.micro_dollars, Some(allowed));
    for session in 0..16 {
        let params = CostSummaryParams {
            days: None,
            session_key: Some(format!("s{session}")),
        };
        let costs = store.cost_summary(params, home.clock.wall_ms()).await;
        assert!(costs.unwrap().total.micro_dollars <= Some(80));
    }
    store.close().await;
    assert!(crate::support::verify(&home.database()).problems.is_empty());
}

#[derive(Clone, Debug)]
enum Act {
    CostReservation {
        call: u8,
        amount: Option<u64>,
        limit: u64,
    },
    Settle {
        call: u8,
        amount: Option<u64>,
        model: u8,
    },
    Lose {
        call: u8,
    },
    NextDay,
    Reopen,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let amount = || proptest::option::weighted(0.9, prop_oneof![0..100_u64, Just(u64::MAX)]);
    let limit = prop_oneof![0..500_u64, Just(u64::MAX)];
    let act = prop_oneof![
        4 => (0..12_u8, amount(), limit)
            .prop_map(|(call, amount, limit)| Act::CostReservation { call, amount, limit }),
        4 => (0..12_u8, amount(), 0..3_u8)
            .prop_map(|(call, amount, model)| Act::Settle { call, amount, model }),
        1 => (0..12_u8).prop_map(|call| Act::Lose { call }),
        1 => Just(Act::NextDay),
        1 => Just(Act::Reopen),
    ];
    proptest::collection::vec(act, 1..40)
}

/// What the ledger should hold, kept the simple way.
#[derive(Default)]
struct Model {
    calls: std::collections::BTreeMap<u8, (bool, Option<u64>)>,
}

impl Model {
    fn spent(&self) -> u64 {
        self.calls.values().filter_map(|(_, amount)| *amount).sum()
    }
}

const CAP: u64 = 1_000_000_000_000;

async fn play(acts: Vec<Act>) {
    let home = at_day();
    let mut store = home.open();
    let mut model = Model::default();
    for act in acts {
        let mut entry = LedgerEntry::default();
        let allowed = match act {
            Act::NextDay => {
                home.clock.advance(DAY_MS);
                continue;
            }
            Act::Reopen => {
                store.close().await;
                store = home.open();
                // Nobody is left to settle what was under way.
                model.calls.values_mut().for_each(|call| call.0 = false);
                continue;
            }
            Act::CostReservation {
                call,
                amount,
                limit,
            } => {
                let ceilings = SpendingCeilings {
                    total: Some(limit),
                    ..SpendingCeilings::default()
                };
                entry.reserve = Some(reserve(&call.to_string(), amount, ceilings));
                let amount = amount.map(|amount| amount.min(CAP));
                let fits = match amount {
                    Some(0) => true,
                    Some(amount) => model.spent() + amount <= limit,
                    None => model.spent() < limit,
                };
                let allowed = fits && !model.calls.contains_key(&call);
                if allowed {
                    model.calls.insert(call, (true, amount));
                }
                allowed
            }
            Act::Settle {
                call,
                amount,
                model: answered,
            } => {
                let mut write = settle(&call.to_string(), amount);
                if let LedgerWrite::Settle { model, .. } = &mut write {
                    *model = format!("m/{answered}");
                }
                entry.writes = vec![write];
                let allowed = model.calls.get(&call).is_none_or(|(open, _)| *open);
                if allowed {
                    let amount = amount.map(|amount| amount.min(CAP));
                    model.calls.insert(call, (false, amount));
                }
                allowed
            }
            Act::Lose { call } => {
                entry.writes = vec![LedgerWrite::Unknown {
                    call_key: call.to_string(),
                }];
                let found = model.calls.get_mut(&call).filter(|(open, _)| *open);
                found.map(|call| call.0 = false).is_some()
            }
        };
        let told = format!("{entry:?}");
        let done = store.add_ledger(entry).await;
        assert_eq!(done.is_ok(), allowed, "{told}: {done:?}");
        let cost = total(&store, &home).await;
        assert_eq!(cost.micro_dollars.unwrap_or(0), model.spent(), "{told}");
        assert_eq!(cost.calls as usize, model.calls.len(), "{told}");
    }
    store.close().await;
    let verdict = crate::support::verify(&home.database());
    assert!(verdict.problems.is_empty(), "{:?}", verdict.problems);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_sums_are_always_those_of_the_calls(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(play(acts));
    }
}

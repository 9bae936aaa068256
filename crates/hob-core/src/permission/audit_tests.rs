//! The chain holds for what was written and for nothing else.

use super::*;
use proptest::prelude::*;

fn entry(seq: u64, previous: &str, matter: Value) -> AuditEntry {
    let mut entry = AuditEntry {
        seq,
        at: 1_000 + seq,
        act: "allowed".to_owned(),
        by: "rule:read".to_owned(),
        session_key: Some("chat:main".to_owned()),
        run_id: None,
        tool: Some("read".to_owned()),
        matter,
        previous: previous.to_owned(),
        hash: String::new(),
    };
    entry.hash = entry_hash(&entry);
    entry
}

fn record(count: u64) -> Vec<AuditEntry> {
    let mut entries: Vec<AuditEntry> = Vec::new();
    for seq in 1..=count {
        let previous = entries.last().map_or(AUDIT_ROOT, |last| last.hash.as_str());
        let matter = json!({ "args": { "path": format!("{seq}.txt") } });
        entries.push(entry(seq, previous, matter));
    }
    entries
}

fn problem(entries: Vec<AuditEntry>, head: Option<&str>) -> Option<String> {
    verify_audit(entries, head).1
}

#[test]
fn a_whole_record_holds() {
    let entries = record(5);
    let head = entries[4].hash.clone();
    let (chain, problem) = verify_audit(entries.clone(), Some(&entries[2].hash));
    assert_eq!(
        (chain.entries(), chain.head(), problem),
        (5, head.as_str(), None)
    );
    assert_eq!(verify_audit([], None).0.head(), AUDIT_ROOT);
    assert_eq!(verify_audit([], Some(AUDIT_ROOT)).1, None);
}

#[test]
fn every_field_is_covered() {
    let changes: [fn(&mut AuditEntry); 9] = [
        |it| it.at += 1,
        |it| it.act = "denied".to_owned(),
        |it| it.by = "me".to_owned(),
        |it| it.session_key = None,
        |it| it.run_id = "00000000-0000-7000-8000-000000000001".parse().ok(),
        |it| it.tool = Some("write".to_owned()),
        |it| it.matter["args"]["path"] = json!("other"),
        |it| it.previous = AUDIT_ROOT.to_owned(),
        |it| it.hash = AUDIT_ROOT.to_owned(),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut entries = record(4);
        change(&mut entries[2]);
        let problem = problem(entries, None).unwrap_or_else(|| panic!("change {number}"));
        assert!(problem.contains("Entry 3"), "{problem}");
    }
}

#[test]
fn gaps_swaps_and_cuts_are_found() {
    let entries = record(5);
    let mut gap = entries.clone();
    gap.remove(1);
    assert!(problem(gap, None).is_some());
    let mut swapped = entries.clone();
    swapped.swap(1, 2);
    assert!(problem(swapped, None).is_some());
    let mut cut = entries.clone();
    cut.truncate(3);
    assert_eq!(
        problem(cut.clone(), None),
        None,
        "an end cannot be missed by itself"
    );
    assert!(problem(cut, Some(&entries[4].hash)).is_some());
    let anew = record(5);
    assert!(problem(anew, Some("another")).is_some());
    // An entry changed together with its own hash breaks the next one.
    let mut rewritten = entries;
    rewritten[1] = entry(2, &rewritten[0].hash.clone(), json!("other"));
    assert!(problem(rewritten, None).is_some());
}

#[test]
fn long_values_are_kept_as_their_hash_and_secrets_masked() {
    let mask = |text: &str| text.replace("secret", "[masked]");
    let long = "x".repeat(2_000);
    let value = json!({ "a": "my secret", "b": long, "c": 1.5, "d": [1, "secret"], "e": null });
    let kept = to_audit_value(&value, &mask);
    assert_eq!(kept["a"], "my [masked]");
    assert_eq!(kept["b"]["bytes"], 2_000);
    assert_eq!(kept["b"]["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(kept["c"], "1.5");
    assert_eq!(kept["d"], json!([1, "[masked]"]));
    let wide: Map<String, Value> = (0..100).map(|at| (at.to_string(), json!(0))).collect();
    let short = to_audit_value(&Value::Object(wide), &mask);
    assert!(short["bytes"].is_number());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// What is recorded comes back from its JSON to the same hash.
    #[test]
    fn a_recorded_value_survives_being_written_and_read(value in any_json()) {
        let kept = entry(1, AUDIT_ROOT, to_audit_value(&value, &str::to_owned));
        let text = serde_json::to_string(&kept).expect("is JSON");
        let read: AuditEntry = serde_json::from_str(&text).expect("is an entry");
        prop_assert_eq!(entry_hash(&read), kept.hash);
        prop_assert!(canonical_json(&read.matter).len() <= 64 * 1_024);
    }
}

//! Needs first, circles and unknown names by name, and the reverse for stopping.

use super::*;
use proptest::prelude::*;

fn needs(pairs: &[(&str, &[&str])]) -> ServiceDependencies {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let pairs = pairs.iter();
    pairs
        .map(|(name, needed)| ((*name).to_owned(), owned(needed)))
        .collect()
}

#[test]
fn what_is_needed_comes_first() {
    let all = needs(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"]), ("d", &[])]);
    assert_eq!(start_order("a", &all).unwrap(), ["d", "b", "c", "a"]);
    assert_eq!(start_order("d", &all).unwrap(), ["d"]);
    assert_eq!(stop_order("d", &all), ["a", "b", "c", "d"]);
    assert_eq!(stop_order("a", &all), ["a"]);
}

#[test]
fn a_circle_is_named() {
    let all = needs(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])]);
    let found = start_order("a", &all).unwrap_err();
    assert_eq!(
        found,
        DependencyError::Cycle(vec!["b".to_owned(), "c".to_owned()])
    );
    assert!(
        found.sentence().contains("b → c → b"),
        "{}",
        found.sentence()
    );
    let own = needs(&[("a", &["a"])]);
    assert!(start_order("a", &own).is_err());
    // Stopping must work all the same.
    assert_eq!(stop_order("b", &all).len(), 3);
}

#[test]
fn an_unknown_need_is_named_with_who_needs_it() {
    let all = needs(&[("a", &["b"]), ("b", &["ghost"])]);
    let said = start_order("a", &all).unwrap_err().sentence();
    assert!(said.contains("'b' needs 'ghost'"), "{said}");
}

proptest! {
    #[test]
    fn starting_never_puts_a_service_before_its_needs(edges in prop::collection::vec((0_usize..8, 0_usize..8), 0..20)) {
        let name = |at: usize| format!("s{at}");
        let mut all: ServiceDependencies = (0..8).map(|at| (name(at), Vec::new())).collect();
        for (from, to) in edges {
            // Only downward, so that there is no circle.
            if from > to {
                all.entry(name(from)).or_default().push(name(to));
            }
        }
        for at in 0..8 {
            let order = start_order(&name(at), &all).unwrap();
            let place = |wanted: &String| order.iter().position(|it| it == wanted);
            for one in &order {
                for need in &all[one] {
                    prop_assert!(place(need) < place(one), "{order:?}");
                }
            }
            for stop in [stop_order(&name(at), &all), stop_order_all(&all)] {
                let place = |wanted: &String| stop.iter().position(|it| it == wanted);
                for one in &stop {
                    for need in all[one].iter().filter(|need| stop.contains(need)) {
                        prop_assert!(place(need) > place(one), "{stop:?}");
                    }
                }
            }
            prop_assert_eq!(stop_order_all(&all).len(), all.len());
        }
    }
}

//! Which name is probably meant.

use super::*;

#[test]
fn the_probable_name_comes_first() {
    let best = |query: &str, names: &[&'static str]| -> Option<&'static str> {
        let scored = names.iter().filter_map(|name| {
            let found = fuzzy_match(query, name)?;
            Some((found, *name))
        });
        scored.max_by_key(|(found, _)| *found).map(|(_, name)| name)
    };
    let files = [
        "src/main.rs",
        "src/model/mod.rs",
        "README.md",
        "src/domain.rs",
    ];
    assert_eq!(best("main", &files), Some("src/main.rs"));
    assert_eq!(best("mod", &files), Some("src/model/mod.rs"));
    assert_eq!(best("rme", &files), Some("README.md"));
    assert_eq!(best("zzz", &files), None);
    assert!(fuzzy_match("", "anything").is_some());
    assert_eq!(fuzzy_match("ba", "ab"), None);
}

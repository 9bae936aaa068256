//! The kind of name at the cursor.

use super::*;

#[test]
fn the_words_before_the_cursor_decide() {
    let kind = |line: &str| kind_at(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(kind("run show"), Some(NameKind::Run));
    assert_eq!(kind("undo"), Some(NameKind::Run));
    assert_eq!(kind("ask --session"), Some(NameKind::Session));
    assert_eq!(kind("ask -s"), Some(NameKind::Session));
    assert_eq!(kind("session history"), Some(NameKind::Session));
    assert_eq!(kind("session get"), Some(NameKind::Session), "an old name");
    assert_eq!(kind("chat --model"), Some(NameKind::Model));
    assert_eq!(kind("model test"), Some(NameKind::Model));
    assert_eq!(kind("model set default"), Some(NameKind::Model));
    assert_eq!(kind("service start"), Some(NameKind::Service));
    assert_eq!(kind("cron run"), Some(NameKind::Job));
    assert_eq!(kind("loop watch"), Some(NameKind::Loop));
    assert_eq!(kind("terminal capture -t"), Some(NameKind::Terminal));
    assert_eq!(kind("ask --json --model fast -s"), Some(NameKind::Session));
    // What the shell itself completes.
    assert_eq!(kind("session"), None);
    assert_eq!(kind("ask"), None);
    assert_eq!(kind("ask --model=fast"), None);
    assert_eq!(kind("nonsense"), None);
}

//! How rules read and write.

use super::*;
use serde_json::json;

#[test]
fn a_rule_reads_as_one_object_with_its_terms() {
    let text = json!({
        "id": "1", "createdAt": 5, "createdBy": "owner",
        "tool": "exec", "decision": "allow", "scope": "always",
        "match": { "command": "ls *" },
    });
    let rule: PermissionRule = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(rule.terms.matches["command"], "ls *");
    assert_eq!(serde_json::to_value(&rule).unwrap(), text);
}

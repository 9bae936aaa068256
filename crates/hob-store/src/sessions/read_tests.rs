//! Every listing walks an index: no table is scanned, nothing is sorted.

use crate::connection::open_draft;
use crate::migrations::migrate;
use std::path::Path;

#[test]
fn listings_histories_and_exports_are_index_scans() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    std::fs::write(&path, "").unwrap();
    let sql = open_draft(&path).unwrap();
    migrate(&sql, Path::new("x.db")).unwrap();
    let queries = [
        "SELECT row_id, metadata FROM sessions WHERE (updated_at, row_id) < (?1, ?2)
         ORDER BY updated_at DESC, row_id DESC LIMIT ?3",
        "SELECT row_id, metadata FROM sessions WHERE kind = ?4 AND (updated_at, row_id) < (?1, ?2)
         ORDER BY updated_at DESC, row_id DESC LIMIT ?3",
        "SELECT id FROM messages WHERE session = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3",
        "SELECT id FROM messages WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
        "SELECT id FROM messages WHERE session = ?1 AND seq <= ?2 AND role = 'user'
         ORDER BY seq LIMIT 1",
        "SELECT id FROM messages WHERE session = ?1 AND idempotency_key = ?2",
        "SELECT id FROM sessions WHERE key = ?1",
        "SELECT id FROM sessions WHERE id = ?1",
        "SELECT row_id FROM messages WHERE session = ?1 LIMIT ?2",
    ];
    for query in queries {
        let mut explain = sql.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let parameters = explain.parameter_count();
        for index in 1..=parameters {
            explain.raw_bind_parameter(index, 1).unwrap();
        }
        let mut rows = explain.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let step: String = row.get(3).unwrap();
            assert!(step.starts_with("SEARCH"), "{query}: {step}");
            assert!(step.contains("INDEX"), "{query}: {step}");
        }
    }
}

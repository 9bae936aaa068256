//! Faults and attacks the daemon survives, as black-box tests of the built binary.
//!
//! Three rules hold for each: the fault is injected below the real code (a full disk under the
//! real store, not a fake store); breaking the product on purpose turns the test red
//! (`cargo xtask faults --break N` applies a patch of `crates/hob/tests/sabotage/` to a copy of the
//! project and tests the build of that copy); the seed stands on the first line of a failure and
//! `HOB_FAULT_SEED` repeats it. A test's number is in its name: `f07_…` guards fault 7.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside the house: they start processes and read the environment"
)]

pub(crate) mod attacks;
mod cron;
mod durability;
mod fault_build;
mod hands;
pub(crate) mod http;
mod jobs;
mod ledger;
mod load;
mod loops;
mod mind;
mod peer;
mod process;
mod rig;
mod services;
mod soak;
mod stress;
mod supervision;
mod terminal;
mod trial;
mod websocket;

/// One fault: its number in the catalogue, its test, and what must hold.
pub(crate) struct Fault {
    pub(crate) number: u32,
    pub(crate) test: &'static str,
    pub(crate) expects: &'static str,
}

/// Every fault tested here, in the order of its number. `cargo xtask faults` prints this table
/// with the figures the tests report. Numbers from 101 are proofs of ours beyond the catalogue.
#[rustfmt::skip]
pub(crate) const FAULTS: &[Fault] = &[
    Fault { number: 1, test: "f01_killed_at_random_moments", expects: "every ack present once, order kept" },
    Fault { number: 2, test: "f02_killed_at_every_named_step", expects: "recovery reaches the state of a clean run" },
    Fault { number: 4, test: "f04_torn_write_ahead_log", expects: "valid prefix kept, loud report, no crash loop" },
    Fault { number: 4, test: "f04_mark_missing_or_damaged", expects: "told with what is known; nothing acknowledged is called unacknowledged" },
    Fault { number: 4, test: "f04_log_taken_in_by_another_program", expects: "nothing is lost, and nothing is called lost" },
    Fault { number: 6, test: "f06_full_disk", expects: "refuses with one sentence, keeps reading, resumes by itself" },
    Fault { number: 7, test: "f07_fsync_fails_once", expects: "no ack for that commit, files opened again" },
    Fault { number: 7, test: "f07_every_sync_fails_for_seconds", expects: "not ready while it lasts: probe, status, doctor; ready again by itself" },
    Fault { number: 8, test: "f08_writes_fail_short_or_interrupted", expects: "no false ack, works again afterwards" },
    Fault { number: 10, test: "f10_two_daemons_one_home", expects: "second refuses and names the first" },
    Fault { number: 11, test: "f11_migration_killed_and_newer_schema", expects: "no stuck state; newer schema refused, file untouched" },
    Fault { number: 13, test: "f13_loops_killed_in_the_middle", expects: "the same iteration goes on, none lost or doubled" },
    Fault { number: 13, test: "f13_killed_in_the_middle_of_a_job", expects: "taken up again, the attempt counted; a command is not repeated" },
    Fault { number: 15, test: "f15_crash_between_effect_and_record", expects: "keyed effect not repeated, unkeyed effect asks" },
    Fault { number: 16, test: "f16_same_trigger_twice_at_once", expects: "one row" },
    Fault { number: 17, test: "f17_clock_set_forward_and_back", expects: "missed runs follow the policy, none fires twice" },
    Fault { number: 18, test: "f18_asleep_for_three_days", expects: "one catch-up a job, spread" },
    Fault { number: 19, test: "f19_runaway_loop", expects: "stops at step, token, money and wall bounds" },
    Fault { number: 20, test: "f20_poison_job", expects: "given up after a few tries, others unaffected" },
    Fault { number: 20, test: "f20_a_job_that_panics_each_time", expects: "disabled after a few failures, others as punctual" },
    Fault { number: 21, test: "f21_a_service_that_ends_at_once", expects: "waits longer each time, gives up, stays visible with its reason" },
    Fault { number: 22, test: "f22_a_service_that_hangs", expects: "killed and restarted once" },
    Fault { number: 23, test: "f23_services_that_will_not_end", expects: "nothing of them is left, whichever way it ends" },
    Fault { number: 24, test: "f24_a_service_that_floods_its_log", expects: "bounded memory and files, the daemon stays quick" },
    Fault { number: 25, test: "f25_services_that_need_each_other", expects: "dependants wait for readiness, and stop first" },
    Fault { number: 26, test: "f26_panic_in_one_actor", expects: "only that request fails" },
    Fault { number: 27, test: "f27_shutdown_during_load", expects: "ends within 10 s, no half records" },
    Fault { number: 27, test: "f27_shutdown_with_services_at_work", expects: "ends within 10 s, no process of a service is left" },
    Fault { number: 27, test: "f27_runs_at_orderly_stops", expects: "every accepted run ends answered after the restart, none because of the stop" },
    Fault { number: 31, test: "f31_giant_frame_and_a_million_fragments", expects: "closed at the limit, before allocation" },
    Fault { number: 32, test: "f32_hostile_json", expects: "typed error, stack safe" },
    Fault { number: 34, test: "f34_slow_consumer", expects: "that client is told and closed, others unharmed" },
    Fault { number: 38, test: "f38_version_skew", expects: "negotiated or clearly refused" },
    Fault { number: 39, test: "f39_cross_origin_websocket", expects: "403 before upgrade" },
    Fault { number: 40, test: "f40_dns_rebinding", expects: "403 or 400" },
    Fault { number: 41, test: "f41_cross_site_request_forgery", expects: "no effect; GET never mutates" },
    Fault { number: 43, test: "f43_brute_force_from_loopback", expects: "limiter holds, the right token works meanwhile" },
    Fault { number: 43, test: "f43_request_heads_beyond_the_bound", expects: "64 KiB at the most before a token is shown, on every listener" },
    Fault { number: 43, test: "f43_strangers_at_the_hooks", expects: "those without the secret keep nobody out who knows it" },
    Fault { number: 44, test: "f44_self_declared_scope", expects: "ignored" },
    Fault { number: 46, test: "f46_another_user_where_a_model_is_looked_for", expects: "named and left alone; no prompt goes there" },
    Fault { number: 46, test: "f46_a_planted_folder_of_sockets", expects: "refused: another user's, a link, an open mode; nothing of it is read" },
    Fault { number: 46, test: "f46_another_local_user", expects: "refused by mode and peer uid; the port needs a token; our own children are refused too" },
    Fault { number: 47, test: "f47_bind_beyond_loopback", expects: "refuses to start and says how" },
    Fault { number: 52, test: "f52_refusals_with_and_without_retry_after", expects: "honours the hint, bounded tries, tells the person" },
    Fault { number: 53, test: "f53_stream_cut_at_every_byte", expects: "partial text kept and marked, no half-parsed call runs" },
    Fault { number: 54, test: "f54_garbage_in_the_stream", expects: "bounded, typed error" },
    Fault { number: 55, test: "f55_silence", expects: "idle timeout, cancel within a second" },
    Fault { number: 56, test: "f56_drip_feed", expects: "the wall budget applies" },
    Fault { number: 58, test: "f58_lying_usage", expects: "own count used, spend cap holds" },
    Fault { number: 60, test: "f60_commands_that_never_end", expects: "killed at the deadline with children" },
    Fault { number: 60, test: "f60_terminal_commands_that_never_end", expects: "ended at the deadline with their process group, the shell goes on" },
    Fault { number: 61, test: "f61_bombs_of_processes_and_threads", expects: "the bound holds, the daemon stays quick" },
    Fault { number: 61, test: "f61_services_that_fork_without_end", expects: "the service's own bound holds, the daemon stays quick" },
    Fault { number: 61, test: "f61_monitors_that_fork_without_end", expects: "the bound holds, the loop goes on, the daemon stays quick" },
    Fault { number: 62, test: "f62_commands_that_fill_the_disk", expects: "quota, cleaned up" },
    Fault { number: 62, test: "f62_monitors_that_fill_the_disk", expects: "quota, cleaned up, the loop goes on" },
    Fault { number: 63, test: "f63_commands_that_print_without_end", expects: "head and tail kept, bounded, UTF-8 safe" },
    Fault { number: 63, test: "f63_services_that_print_without_end", expects: "bounded memory, lines cut between characters" },
    Fault { number: 63, test: "f63_monitors_that_print_without_end", expects: "head and tail in the prompt, bounded memory" },
    Fault { number: 63, test: "f63_terminal_commands_that_print_without_end", expects: "head and tail kept, bounded memory, UTF-8 safe" },
    Fault { number: 64, test: "f64_paths_that_lead_out", expects: "refused, every spelling and every file tool" },
    Fault { number: 65, test: "f65_links_and_renames_that_race", expects: "never escapes the workspace" },
    Fault { number: 67, test: "f67_protected_places_in_a_writable_root", expects: "denied" },
    Fault { number: 68, test: "f68_network_off_means_off", expects: "denied, every kind of socket" },
    Fault { number: 69, test: "f69_addresses_that_lead_inside", expects: "denied, the resolved address pinned" },
    Fault { number: 70, test: "f70_escape_by_privilege", expects: "denied; no capabilities, no new ones" },
    Fault { number: 71, test: "f71_approve_one_thing_run_another", expects: "asks again or is refused; what is shown is escaped" },
    Fault { number: 72, test: "f72_answers_again_late_and_from_the_wrong_hand", expects: "single use, bound to its call; one of many counts" },
    Fault { number: 74, test: "f74_a_terminal_that_is_abused", expects: "what is printed stays data; loss is a typed event; no keys injected" },
    Fault { number: 75, test: "f75_environment_leak", expects: "only the allow list" },
    Fault { number: 80, test: "f80_secrets_in_prompts_and_tool_results", expects: "none in prompts, journal, events, logs; checksums unchanged" },
    Fault { number: 81, test: "f81_memory_of_the_daemon", expects: "not dumpable: no core, unreadable to other processes of the user" },
    Fault { number: 94, test: "f94_instructions_planted_in_what_is_read", expects: "no effect without a human yes; the task is still done" },
    Fault { number: 96, test: "f96_what_would_run_again_by_itself", expects: "nothing persists without approval of that very call" },
    Fault { number: 97, test: "f97_webhooks_forged_and_replayed", expects: "a signed body counts once, whatever unsigned headers say" },
    Fault { number: 98, test: "f98_a_deputy_with_more_power_than_its_master", expects: "effective grant is the intersection; no words join a run that may do more" },
    Fault { number: 100, test: "f100_soak", expects: "memory and descriptors stay flat, no ack is lost, no process is left" },
    Fault { number: 101, test: "f101_runs_killed_at_random_points", expects: "no lost step, no silent repeat, every run ends or asks" },
    Fault { number: 102, test: "f102_a_thousand_unfinished_runs_at_start", expects: "all go on by themselves, each once" },
    Fault { number: 103, test: "f103_reconnect_in_the_middle_of_an_answer", expects: "text so far, then the rest, no gap or repeat" },
    Fault { number: 104, test: "f104_a_child_that_reaches_for_hob", expects: "sees no token, no socket, answers nothing" },
    Fault { number: 105, test: "f105_killed_between_a_slot_and_its_outcome", expects: "every due time once, every slot an outcome" },
    Fault { number: 106, test: "f106_reads_fail_for_a_while", expects: "not called damage; ready again by itself" },
    Fault { number: 106, test: "f106_reads_of_a_running_daemon_fail", expects: "not called damage; ready again by itself" },
    Fault { number: 107, test: "f107_older_files_restored", expects: "a client that returns is told a gap, whatever the numbers" },
    Fault { number: 111, test: "f111_loops_stopped_anywhere", expects: "prompt, monitor and sleep end within a second, nothing is left" },
    Fault { number: 112, test: "f112_words_typed_during_an_iteration", expects: "shown to the next iteration, cleared only once shown" },
    Fault { number: 113, test: "f113_a_byte_rots_on_disk", expects: "the row is named, never shown as whole; everything else goes on" },
];

/// The table and the tests cannot drift apart: each row has its test and each test its row.
#[test]
fn every_fault_in_the_table_has_its_test() {
    let mut found = Vec::new();
    collect_tests(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/it/faults")
            .as_path(),
        &mut found,
    );
    found.sort();
    let mut listed: Vec<String> = FAULTS.iter().map(|fault| fault.test.to_owned()).collect();
    listed.sort();
    assert_eq!(found, listed);
    for fault in FAULTS {
        let prefix = format!("f{:02}_", fault.number);
        assert!(
            fault.test.starts_with(&prefix),
            "{} does not start with {prefix}",
            fault.test
        );
        assert!(!fault.expects.is_empty());
    }
}

fn collect_tests(folder: &std::path::Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder of these tests") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect_tests(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source file");
        let names = text.lines().filter_map(|line| {
            let name = line.strip_prefix("fn f")?;
            let digits = name.bytes().take_while(u8::is_ascii_digit).count();
            (digits >= 2).then(|| format!("f{}", name.split('(').next().unwrap_or_default()))
        });
        found.extend(names);
    }
}

//! Content of the heartbeat file, and quiet answers.

use super::{has_content, is_quiet};

#[test]
fn headings_comments_and_empty_points_are_nothing_to_do() {
    for empty in [
        "",
        "\n\n",
        "# Heartbeat\n\n## Every day\n",
        "<!-- write here what to look after -->\n# Heartbeat\n",
        "# Heartbeat\n- \n* \n- [ ]\n1.\n---\n",
        "<!-- never closed\n- look at the mail",
        "```\n```\n",
    ] {
        assert!(!has_content(empty), "{empty:?}");
    }
    for said in [
        "Look at the mail.",
        "# Heartbeat\n- [ ] look at the mail",
        "1. the build",
        "<!-- a --> x",
        "2026",
    ] {
        assert!(has_content(said), "{said:?}");
    }
}

#[test]
fn a_bare_ok_is_not_told_however_it_is_dressed() {
    for quiet in [
        "HEARTBEAT_OK",
        " **HEARTBEAT_OK**\n",
        "`HEARTBEAT_OK`",
        "~~HEARTBEAT_OK~~",
        "```\nHEARTBEAT_OK\n```",
        "__HEARTBEAT_OK__.",
    ] {
        assert!(is_quiet(quiet), "{quiet:?}");
    }
    for told in [
        "HEARTBEAT_OK, but the disk is full",
        "heartbeat",
        "",
        "HEARTBEAT_OK HEARTBEAT_OK",
    ] {
        assert!(!is_quiet(told), "{told:?}");
    }
}

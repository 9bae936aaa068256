//! Configurations that run programs, in every spelling git takes, and ordinary ones.

use super::find_program_setting;

#[test]
fn a_program_is_found_in_every_spelling() {
    for config in [
        "[core]\n\tfsmonitor = ./evil.sh\n",
        "[core] fsmonitor = ./evil.sh",
        "[CORE]\nFsMonitor=evil",
        "[core \"x\"]\nfsmonitor=./evil\n",
        "[core.x]\nhooksPath = hooks2\n",
        "\u{feff}[core]\nhooksPath = hooks2\n",
        "[core]\r\n\tsshCommand = evil\r\n",
        "# [x]\n[core]; c\nsshCommand\t=\tevil\n",
        "[core]\nworktree = a\\\n[foo]\nfsmonitor = ./evil\n",
        "[core]\nbare = false # \\\n fsmonitor = ./evil\n",
        "[filter \"lfs\"]\nclean = evil\n",
        "[filter \"a]\\\"b\"] process = evil\n",
        "[diff \"x\"]\ntextconv = evil\n",
        "[diff]\nexternal = evil\n",
        "[merge \"x\"]\ndriver = evil %A\n",
        "[alias]\nst = \"!evil\"\n",
        "[credential]\nhelper = !evil\n",
        "[credential \"https://x\"]\nhelper = store\n",
        "[gpg \"ssh\"]\nprogram = evil\n",
        "[include]\npath = ../evil.config\n",
        "[includeIf \"gitdir:/\"]\npath = ../evil.config\n",
        "[remote \"origin\"]\nurl = ext::sh -c evil\n",
        "[url \"ext::sh -c evil\"]\ninsteadOf = https://x\n",
        "[protocol \"ext\"]\nallow = always\n",
        "[submodule \"a\"]\nupdate = !evil\n",
        "[pager]\nlog = evil\n",
        "[core]\nfsmonitor = \"./ev\\\nil\"\n",
        "[core\nfsmonitor = evil\n",
        "[core]\nfsmonitor = \"evil\n",
        "[trailer \"x\"]\ncmd = evil\n",
        "[difftool \"x\"]\ncmd = evil\n",
    ] {
        assert!(
            find_program_setting(config.as_bytes()).is_some(),
            "{config:?}"
        );
    }
}

#[test]
fn ordinary_configurations_name_none() {
    for config in [
        "",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
        "[remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        "[user]\nname = \"A # B\"\nemail = a@b\n",
        "[core]\nfsmonitor = true\n[core]\nfsmonitor\n",
        "[alias]\nst = status -s\n",
        "[submodule \"a\"]\nactive = true\nurl = ../a\nupdate = rebase\n",
        "[core]\n# fsmonitor = ./evil\n; hooksPath = x\nworktree = \"a \\\n fsmonitor = b\"\n",
        "[lfs]\nrepositoryformatversion = 0\n[extensions]\nworktreeConfig = true\n",
    ] {
        assert_eq!(find_program_setting(config.as_bytes()), None, "{config:?}");
    }
}

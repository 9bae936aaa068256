# Tells hob where a command begins and ends, and takes the commands that hob hands over. The lines
# above set __hob_k, the key that a mark carries, and __hob_dir, the terminal's folder.

set -g __hob_n 0
set -g __hob_id ''
set -g __hob_own 0
set -g __hob_kept ''
set -g __hob_point 0
set -g __hob_pwd ''
set -g __hob_folder ''

# The time, with six digits behind the point.
function __hob_clock
    set -l now (command date +%s.%6N)
    if string match -qr '^[0-9]+\.[0-9]{6}$' -- $now
        echo $now
    else
        echo (command date +%s).000000
    end
end

# The bytes of what is read as hexadecimal digits.
function __hob_to_hex
    command od -An -v -tx1 | string join '' | string replace -a ' ' ''
end

function __hob_next
    set -g __hob_n (math $__hob_n + 1)
    set -g __hob_id p$fish_pid.$__hob_n
    set -g __hob_own 0
end

function __hob_preexec --on-event fish_preexec
    printf '\e]7717;%s;C;%s;%s\e\\' $__hob_k $__hob_id (__hob_clock)
end

function __hob_postexec --on-event fish_postexec
    set -l last $status
    set -l more ''
    # A line that begins with a space stays out of the history.
    if test $__hob_own -eq 0; and not string match -q ' *' -- $argv[1]; and test -z "$fish_private_mode"
        set more ';'(printf %s $argv[1] | string sub -l 2000 | string collect | __hob_to_hex | string sub -l 4000)
    end
    printf '\e]7717;%s;D;%s;%s;%s%s\a' $__hob_k $__hob_id $last (__hob_clock) $more
    __hob_next
    return $last
end

function __hob_prompt --on-event fish_prompt
    set -l last $status
    if test "$__hob_pwd" != "$PWD"
        set -g __hob_pwd $PWD
        set -g __hob_folder (printf %s $PWD | __hob_to_hex)
    end
    # A line can only be changed by a key, so the terminal is asked to press one.
    if test -n "$__hob_kept"
        command tmux send-keys -t $TMUX_PANE -H 1b 5b 37 37 31 37 3b 33 7e
    end
    printf '\e]7717;%s;B;%s\a' $__hob_k $__hob_folder
    return $last
end

# Takes a command that hob has handed over, shows it as if it had been typed and runs it. What the
# person has half typed comes back at the next prompt. Without a command nothing happens.
function __hob_take
    set -l id
    set -l line
    test -s $__hob_dir/next
    or return 0
    begin
        read id
        and read -z line
    end <$__hob_dir/next
    test -n "$id"
    and echo -n >$__hob_dir/next
    # Whoever cannot empty the file would run the command twice.
    or return 0
    printf '\e]7717;%s;T;%s\a' $__hob_k $id
    set -g __hob_kept (commandline | string collect)
    set -g __hob_point (commandline -C)
    set -g __hob_id $id
    set -g __hob_own 1
    commandline -r -- $line
    # What does not parse, or not yet, would stay in the line; so it runs and fails.
    if not commandline --is-valid
        commandline -r -- 'eval '(string escape -- $line | string collect)
    end
    commandline -f execute
end

# Puts back what the person had half typed.
function __hob_back
    if test -z "$(commandline | string collect)"
        commandline -r -- $__hob_kept
        commandline -C $__hob_point
    end
    set -g __hob_kept ''
end

function __hob_exit --on-event fish_exit
    printf '\e]7717;%s;X;%s\a' $__hob_k $status
end

for mode in default insert visual
    bind -M $mode \e\[7717~ __hob_take
    bind -M $mode \e\[7717\;3~ __hob_back
end
__hob_next

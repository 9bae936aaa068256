# Tells hob where a command begins and ends, and takes the commands that hob hands over. The lines
# above set __hob_k, the key that a mark carries, and __hob_dir, the terminal's folder. Nothing here
# starts a process, and everything holds under `set -eu`.
#
# bash copies a function whole each time it is called, so what is seldom needed is one of its own.

__hob_n=0 __hob_id='' __hob_own=0 __hob_ran=0 __hob_at=0 __hob_bang=0 __hob_past=''
__hob_kept='' __hob_point=0 __hob_hex='' __hob_b='' __hob_text='' __hob_seen='' __hob_then=''
__hob_x=()
__hob_st=$'\e\\' __hob_i=$'\e]7717;'$__hob_k$';I\a'
shopt -s promptvars
# What stands at the end of PS1, before PS2 and before PS0. The subscripts only set their variables.
__hob_ps1='\[${__hob_b}\]'
# Only a line that is not finished tells that it was taken: any other begins, or ends, at once.
__hob_ps2='\[\e]7717;${__hob_k};T;${__hob_id}\a${__hob_i}${__hob_x[__hob_at=0]-}\]'
__hob_ps0='\e]7717;${__hob_k};C;${__hob_id};${EPOCHREALTIME/[!0-9]/.}${__hob_st}${__hob_x[__hob_ran=1]-}${__hob_x[__hob_at=0]-}'
# Before version 5 there is no clock to ask; hob takes its own then.
: "${EPOCHREALTIME=}"

# The bytes of $1 as hexadecimal digits, in __hob_hex.
__hob_to_hex() {
  local LC_ALL=C at byte digits text=$1
  __hob_hex=''
  for ((at = 0; at < ${#text}; at++)); do
    printf -v byte %d "'${text:at:1}"
    printf -v digits %02x $((byte & 255))
    __hob_hex+=$digits
  done
}

# The line that the history took last, in __hob_text.
__hob_last_line() {
  local HISTTIMEFORMAT='' text=''
  __hob_text=''
  history 1 >| "$__hob_dir/typed" || return 0
  IFS= read -r -d '' text < "$__hob_dir/typed" || true
  if [[ $text =~ ^\ *[0-9]+[*\ ]\ (.*)$ ]]; then
    __hob_text=${BASH_REMATCH[1]%$'\n'}
    __hob_text=${__hob_text:0:2000}
  fi
}

# Before the person's own hooks: a command has ended.
__hob_first() {
  local status=$?
  if ((__hob_own)); then
    printf '\e]7717;%s;D;%s;%s;%s\a' "$__hob_k" "$__hob_id" "$status" "${EPOCHREALTIME/[!0-9]/.}"
  elif ((__hob_ran)); then
    __hob_line_ended "$status" "${EPOCHREALTIME/[!0-9]/.}"
  fi
  if ((__hob_bang)); then
    set -H
    __hob_bang=0
  fi
  __hob_id=p$$.$((++__hob_n)) __hob_own=0 __hob_ran=0 __hob_past=${HISTCMD-0}
  return "$status"
}

# The same for a line of the person's, with its text if the history took it.
__hob_line_ended() {
  local typed=''
  if [[ ${HISTCMD-0} != "$__hob_past" ]]; then
    __hob_last_line
    __hob_to_hex "$__hob_text"
    typed=\;${__hob_hex:0:4000}
  fi
  printf '\e]7717;%s;D;%s;%s;%s%s\a' "$__hob_k" "$__hob_id" "$1" "$2" "$typed"
}

# After the person's own hooks.
__hob_last() {
  if [[ ${PWD-}${PS0-}${PS1-}${PS2-} != "$__hob_seen" ]]; then
    __hob_look
  fi
  __hob_at=1
}

# The prompts carry the marks, whoever has set them.
__hob_look() {
  __hob_to_hex "${PWD-}"
  __hob_b=$'\e]7717;'$__hob_k';B;'$__hob_hex$'\a'
  if [[ ${PS0-} != *"$__hob_ps0"* ]]; then
    PS0=$__hob_ps0${PS0-}
  fi
  if [[ ${PS1-} != *"$__hob_ps1"* ]]; then
    PS1=${PS1-}$__hob_ps1
  fi
  if [[ ${PS2-} != *"$__hob_ps2"* ]]; then
    PS2=$__hob_ps2${PS2-}
  fi
  __hob_seen=${PWD-}$PS0$PS1$PS2
}

# Takes a command that hob has handed over, shows it as if it had been typed and runs it. What the
# person has half typed comes back at the next prompt. Without a command nothing happens. Whoever
# interrupts this gets a new prompt with an empty line, so that the key which follows runs nothing.
__hob_take() {
  local REPLY='' then='""'
  if ((__hob_at)) && [[ -s $__hob_dir/next ]]; then
    # Without a name for it, it is read as it is.
    read -r -d '' < "$__hob_dir/next" || true
  fi
  # Whoever cannot empty the file would run the command twice.
  if [[ -n $REPLY ]] && : >| "$__hob_dir/next"; then
    then=accept-line
    if [[ -n $READLINE_LINE ]]; then
      __hob_keep
    fi
    __hob_id=${REPLY%%$'\n'*} __hob_own=1 __hob_at=0
    READLINE_LINE=${REPLY#*$'\n'}
    if [[ $READLINE_LINE == *[$'\n!']* ]]; then
      __hob_make_plain
    fi
    READLINE_POINT=${#READLINE_LINE}
  fi
  if [[ $then != "$__hob_then" ]]; then
    __hob_bind_then
  fi
}

# Puts aside what the person has half typed.
__hob_keep() {
  __hob_kept=$READLINE_LINE __hob_point=$READLINE_POINT
  then='"\e[7717;4~\e[7717;3~"'
}

# Several lines are one command, so that they have one beginning and one end; and no letter stands
# for an earlier line while this one is read.
__hob_make_plain() {
  if [[ $READLINE_LINE == *$'\n'* ]]; then
    READLINE_LINE="{ $READLINE_LINE"$'\n}'
  fi
  if [[ $- == *H* ]]; then
    set +H
    __hob_bang=1
  fi
}

# What the key that follows presses: it runs the line only if a command was taken. Binding takes
# longer than all the rest, and next to always it is bound like that already.
__hob_bind_then() {
  local map
  for map in emacs vi-insert vi-command; do
    bind -m "$map" "\"\e[7717;2~\": $then"
  done
  __hob_then=$then
}

# Puts back what the person had half typed.
__hob_back() {
  if ((__hob_at)) && [[ -z $READLINE_LINE ]]; then
    READLINE_LINE=$__hob_kept READLINE_POINT=$__hob_point
    __hob_kept=''
  fi
}

__hob_left() {
  printf '\e]7717;%s;X;%s\a' "$__hob_k" "$1"
  # Under `set -e` a status would end the person's own farewell.
  if [[ $- == *e* ]]; then
    return 0
  fi
  return "$1"
}

for __hob_map in emacs vi-insert vi-command; do
  bind -m "$__hob_map" '"\e[7717~": "\e[7717;1~\e[7717;2~"'
  bind -m "$__hob_map" '"\e[7717;4~": accept-line'
  bind -m "$__hob_map" -x '"\e[7717;1~": __hob_take'
  bind -m "$__hob_map" -x '"\e[7717;3~": __hob_back'
done
unset __hob_map
then='""' __hob_bind_then

eval "set -- $(trap -p EXIT)"
trap -- "__hob_left \$?${3:+; $3}" EXIT
set --

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
  PROMPT_COMMAND=(__hob_first "${PROMPT_COMMAND[@]}" __hob_last)
else
  PROMPT_COMMAND="__hob_first
${PROMPT_COMMAND-}
__hob_last"
fi

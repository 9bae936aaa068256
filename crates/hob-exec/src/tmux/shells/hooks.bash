# Tells hob where a command begins and ends, and takes the commands that hob hands over. The lines
# above set __hob_k, the key that a mark carries, and __hob_dir, the terminal's folder. Nothing here
# starts a process, and everything holds under `set -eu`.

__hob_n=0 __hob_id='' __hob_own=0 __hob_ran=0 __hob_at=0 __hob_bang=0 __hob_past=''
__hob_kept='' __hob_point=0 __hob_pwd='' __hob_hex='' __hob_b='' __hob_text=''
__hob_x=()
__hob_i=$'\e]7717;'$__hob_k$';I\a'
shopt -s promptvars
# What stands at the end of PS1, before PS2 and before PS0. The subscripts only set their variables.
__hob_ps1='\[${__hob_b}\]'
__hob_ps2='\[${__hob_i}${__hob_x[__hob_at=0]-}\]'
if [[ -n ${EPOCHREALTIME-} ]]; then
  __hob_ps0='\e]7717;${__hob_k};C;${__hob_id};${EPOCHREALTIME/[!0-9]/.}\a${__hob_x[__hob_ran=1]-}${__hob_x[__hob_at=0]-}'
else
  __hob_ps0='\e]7717;${__hob_k};C;${__hob_id};\D{%s}.000000\a${__hob_x[__hob_ran=1]-}${__hob_x[__hob_at=0]-}'
fi

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
  local status=$? typed='' now=${EPOCHREALTIME-} past=${HISTCMD-0}
  if [[ -z $now ]]; then
    printf -v now '%(%s)T.000000' -1
  fi
  if ((__hob_own || __hob_ran)); then
    if ((!__hob_own)) && [[ $past != "$__hob_past" ]]; then
      __hob_last_line
      __hob_to_hex "$__hob_text"
      typed=\;${__hob_hex:0:4000}
    fi
    printf '\e]7717;%s;D;%s;%s;%s%s\a' "$__hob_k" "$__hob_id" "$status" "${now/[!0-9]/.}" "$typed"
  fi
  if ((__hob_own)); then
    __hob_rest
  fi
  if ((__hob_bang)); then
    set -H
  fi
  __hob_n=$((__hob_n + 1)) __hob_id=p$$.$__hob_n
  __hob_own=0 __hob_ran=0 __hob_bang=0 __hob_past=$past
  return "$status"
}

# After the person's own hooks: the prompts carry the marks, whoever has set them.
__hob_last() {
  if [[ $__hob_pwd != "$PWD" ]]; then
    __hob_pwd=$PWD
    __hob_to_hex "$PWD"
    __hob_b=$'\e]7717;'$__hob_k';B;'$__hob_hex$'\a'
  fi
  if [[ ${PS1-} != *"$__hob_ps1"* ]]; then
    PS1=${PS1-}$__hob_ps1
  fi
  if [[ ${PS2-} != *"$__hob_ps2"* ]]; then
    PS2=$__hob_ps2${PS2-}
  fi
  if [[ ${PS0-} != *"$__hob_ps0"* ]]; then
    PS0=$__hob_ps0${PS0-}
  fi
  __hob_at=1
}

# Takes a command that hob has handed over, shows it as if it had been typed and runs it. What the
# person has half typed comes back at the next prompt. Without a command nothing happens.
__hob_take() {
  local id='' line='' then=accept-line
  if ((!__hob_at)) || [[ ! -s $__hob_dir/next ]]; then
    return 0
  fi
  { IFS= read -r id && IFS= read -r -d '' line; } < "$__hob_dir/next" || true
  # Whoever cannot empty the file would run the command twice.
  if [[ -z $id ]] || ! { : >| "$__hob_dir/next"; }; then
    return 0
  fi
  printf '\e]7717;%s;T;%s\a' "$__hob_k" "$id"
  if [[ -n $READLINE_LINE ]]; then
    __hob_kept=$READLINE_LINE __hob_point=$READLINE_POINT
    then='"\e[7717;4~\e[7717;3~"'
  fi
  # Several lines are one command, so that they have one beginning and one end.
  if [[ $line == *$'\n'* ]]; then
    line="{ $line"$'\n}'
  fi
  if [[ $- == *H* ]]; then
    set +H
    __hob_bang=1
  fi
  __hob_id=$id __hob_own=1 __hob_at=0
  READLINE_LINE=$line READLINE_POINT=${#line}
  # The last thing: whoever interrupts this leaves a key that presses nothing.
  bind "\"\e[7717;2~\": $then"
}

# The second key presses nothing but right after a command has been taken.
__hob_rest() {
  bind -m emacs '"\e[7717;2~": ""'
  bind -m vi-insert '"\e[7717;2~": ""'
  bind -m vi-command '"\e[7717;2~": ""'
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
__hob_rest

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

# Tells hob where a command begins and ends, and takes the commands that hob hands over. The lines
# above set __hob_k, the key that a mark carries, and __hob_dir, the terminal's folder.

zmodload zsh/datetime
autoload -Uz add-zle-hook-widget
typeset -g __hob_id='' __hob_pwd='' __hob_folder='' __hob_hex='' __hob_typed='' __hob_chars='' __hob_now=''
typeset -gi __hob_n=0 __hob_own=0 __hob_ran=0 __hob_bang=0

# The bytes of $1 as hexadecimal digits, in __hob_hex.
__hob_to_hex() {
  emulate -L zsh
  setopt no_multibyte
  local text=$1 digits
  local -i at byte
  __hob_hex=''
  for ((at = 1; at <= ${#text}; at++)); do
    printf -v byte %d "'${text[at]}"
    printf -v digits %02x $((byte & 255))
    __hob_hex+=$digits
  done
}

# The time, with six digits behind the point, in __hob_now.
__hob_clock() {
  emulate -L zsh
  local now=${EPOCHREALTIME/[^0-9]/.}
  local micros=${now#*.}000000
  __hob_now=${now%%.*}.${micros[1,6]}
}

__hob_preexec() {
  emulate -L zsh -o no_aliases
  __hob_ran=1 __hob_typed=$1
  __hob_clock
  printf '\e]7717;%s;C;%s;%s\e\\' "$__hob_k" "$__hob_id" "$__hob_now"
}

# A command has ended.
__hob_precmd() {
  local __hob_status=$?
  # What keeps a line out of the history is asked before the options are put aside.
  if [[ -o histignorespace && $__hob_typed == ' '* ]]; then
    __hob_typed=''
  fi
  __hob_ended $__hob_status
  return $__hob_status
}

__hob_ended() {
  emulate -L zsh
  local more=''
  if ((__hob_own || __hob_ran)); then
    if ((!__hob_own)) && [[ -n $__hob_typed ]]; then
      __hob_to_hex "${__hob_typed[1,2000]}"
      more=\;${__hob_hex[1,4000]}
    fi
    __hob_clock
    printf '\e]7717;%s;D;%s;%s;%s%s\a' "$__hob_k" "$__hob_id" "$1" "$__hob_now" "$more"
  fi
  if ((__hob_sp)); then
    print -nP -- "${PROMPT_EOL_MARK-%B%S%#%s%b}${(l:COLUMNS-1:: :)}"
    print -n $'\r \r'
  fi
  if ((__hob_bang)); then
    histchars=$__hob_chars
  fi
  __hob_n+=1
  __hob_id=p$$.$__hob_n
  __hob_own=0 __hob_ran=0 __hob_bang=0 __hob_typed=''
}

# A line begins to be read.
__hob_line_init() {
  emulate -L zsh
  if [[ $CONTEXT == cont ]]; then
    printf '\e]7717;%s;I\a' "$__hob_k"
  elif [[ $CONTEXT == start ]]; then
    if [[ $__hob_pwd != "$PWD" ]]; then
      __hob_to_hex "$PWD"
      __hob_pwd=$PWD __hob_folder=$__hob_hex
    fi
    printf '\e]7717;%s;B;%s\a' "$__hob_k" "$__hob_folder"
  fi
}

# Takes a command that hob has handed over, shows it as if it had been typed and runs it. What the
# person has half typed comes back at the next prompt. Without a command nothing happens.
__hob_take() {
  emulate -L zsh
  local id='' line=''
  if [[ $CONTEXT != start || ! -s $__hob_dir/next ]]; then
    return 0
  fi
  { IFS= read -r id && IFS= read -r -d '' line } < $__hob_dir/next
  # Whoever cannot empty the file would run the command twice.
  if [[ -z $id ]] || ! { : >| $__hob_dir/next }; then
    return 0
  fi
  printf '\e]7717;%s;T;%s\a' "$__hob_k" "$id"
  if [[ -n $BUFFER ]]; then
    zle .push-line
  fi
  # Several lines are one command, so that they have one beginning and one end.
  if [[ $line == *$'\n'* ]]; then
    line="{ $line"$'\n}'
  fi
  __hob_id=$id __hob_own=1 __hob_bang=1 __hob_chars=$histchars
  # No letter stands for an earlier line while this one is read.
  histchars=$'\x01\x02#'
  BUFFER=$line CURSOR=${#line}
  zle .accept-line
}

__hob_exit() {
  printf '\e]7717;%s;X;%s\a' "$__hob_k" "$?"
}

# zsh marks a missing line end before it tells that the command has ended, and so within its output.
# It is done behind the end instead.
typeset -gi __hob_sp=0
if [[ -o promptsp ]]; then
  unsetopt promptsp
  __hob_sp=1
fi

zle -N __hob_take
for __hob_map in emacs viins vicmd; do
  bindkey -M $__hob_map '\e[7717~' __hob_take
done
unset __hob_map
add-zle-hook-widget line-init __hob_line_init
# A function of this name comes before all others; what it prints is not the command's.
if (($+functions[precmd])); then
  functions[__hob_persons_precmd]=$functions[precmd]
  unfunction precmd
  precmd_functions=(__hob_persons_precmd $precmd_functions)
fi
precmd_functions=(__hob_precmd $precmd_functions)
preexec_functions=(__hob_preexec $preexec_functions)
zshexit_functions=(__hob_exit $zshexit_functions)

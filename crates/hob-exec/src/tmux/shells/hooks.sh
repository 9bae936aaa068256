# Tells hob where a command that hob handed over begins and ends, in shells that know of no hooks.
# The lines above set __hob_k, the key that a mark carries, and __hob_dir, the terminal's folder.

__hob_id=''
HOB_TAKE=$__hob_dir/take

# The time, with six digits behind the point.
__hob_clock() {
  case $(date +%s.%6N) in
    *[!0-9.]*) printf '%s.000000' "$(date +%s)" ;;
    *) date +%s.%6N ;;
  esac
}

# The bytes of the folder as hexadecimal digits.
__hob_folder() {
  printf %s "$PWD" | od -An -v -tx1 | tr -d ' \n'
}

__hob_e=$(printf '\033')
__hob_a=$(printf '\007')
# The end of the last command is told at each prompt; whoever reads it knows the id already.
PS1='${__hob_id:+${__hob_e}]7717;${__hob_k};D;${__hob_id};$?;$(__hob_clock)${__hob_a}}'"${PS1:-\$ }"'${__hob_e}]7717;${__hob_k};B;$(__hob_folder)${__hob_a}'
PS2='${__hob_e}]7717;${__hob_k};I${__hob_a}'"${PS2:-> }"
trap 'printf "\033]7717;%s;X;%s\007" "$__hob_k" "$?"' EXIT

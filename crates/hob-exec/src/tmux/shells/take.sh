# Takes a command that hob has handed over, shows it and runs it. Without one nothing happens.
{
  IFS= read -r __hob_new || :
  __hob_line=$(cat; printf x)
} < "$__hob_dir/next"
if [ -n "$__hob_new" ] && : >| "$__hob_dir/next"; then
  __hob_id=$__hob_new
  __hob_line=${__hob_line%x}
  printf '\033]7717;%s;T;%s\007%s\n' "$__hob_k" "$__hob_id" "$__hob_line"
  printf '\033]7717;%s;C;%s;%s\033\\' "$__hob_k" "$__hob_id" "$(__hob_clock)"
else
  __hob_line=:
fi
eval "$__hob_line"

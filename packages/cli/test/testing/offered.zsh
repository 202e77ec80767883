# What zsh offers, in a terminal: zsh -f offered.zsh SCRIPT LINE… prints the offers for each line, and `--` behind them.
# Keys are what a person would press: the line, Tab, and Ctrl-G to leave it. Offers are noted where they reach zsh itself.
zmodload zsh/zpty
OFFERED=$(mktemp)
export OFFERED
zpty shell zsh -f -i
zpty -w shell 'autoload -Uz compinit; compinit -u -D; bindkey -e
compadd() {
  (( ${@[(I)-[AOD]]} )) && { builtin compadd "$@"; return }
  local -a hits; builtin compadd -A hits "$@"; print -rl -- $hits >> $OFFERED; builtin compadd "$@"
}'
zpty -w shell "source $1"
for line in "${@[2,-1]}"; do
  zpty -w -n shell "$line"$'\t\C-g'
  zpty -w shell 'print -- -- >> $OFFERED'
done
# Written so that the echo of the command is not taken for what it prints.
zpty -w shell 'print D""ONE'
zpty -r shell all '*DONE*'
zpty -d shell
cat $OFFERED
rm $OFFERED

import type { Offer, Place } from "./places.ts";

/** Completion script for zsh, to be sourced, or saved as `_<name>` in a folder of `fpath`. */
export function zshCompletion(name: string, places: readonly Place[]): string {
  const flags = places.flatMap(({ at, flags }) => flags.map((flag) => ({ ...flag, at: `${at} ${flag.word}` })));
  const closed = flags.filter(({ choices }) => choices.length > 0);
  const named = flags.filter(({ names }) => names !== null);
  const open = flags.filter(({ takesValue, choices, names }) => takesValue && choices.length === 0 && names === null);
  const taking = places.filter(({ names }) => names !== null);
  return `#compdef ${name}
# Completion of ${name} for zsh: source <(${name} completion zsh)
_${name}() {
  local at=${name} word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${patterns(places.slice(1))}) at="$at $word" ;;
    esac
  done
  case "$at \${words[CURRENT-1]}" in
${closed.map(({ at, choices }) => `    ("${at}") compadd -- ${choices.join(" ")}; return ;;`).join("\n")}
${named.map(({ at, names }) => `    ("${at}") compadd -- \${(f)"$(${name} names ${names} 2>/dev/null)"}; return ;;`).join("\n")}
    (${patterns(open)}) _default; return ;;
  esac
  if [[ "$PREFIX" != -* ]]; then
    case "$at" in
${taking.map(({ at, names }) => `      ("${at}") compadd -- \${(f)"$(${name} names ${names} 2>/dev/null)"} ;;`).join("\n")}
    esac
  fi
  local -a offers
  case "$at" in
${places.map(({ at, words, flags }) => `    ("${at}") offers=(${[...words, ...flags].map(described).join(" ")}) ;;`).join("\n")}
  esac
  _describe '${name}' offers
}
if [ "$funcstack[1]" = "_${name}" ]; then _${name} "$@"; else compdef _${name} ${name}; fi`;
}

function patterns(places: readonly { at: string }[]): string {
  return places.map(({ at }) => `"${at}"`).join("|");
}

function described({ word, about }: Offer): string {
  return `'${`${word}:${about}`.replaceAll("'", "'\\''")}'`;
}

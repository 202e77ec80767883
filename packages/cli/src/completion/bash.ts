import type { Place } from "./places.ts";

/** Completion script for bash. */
export function bashCompletion(name: string, places: readonly Place[]): string {
  const flags = places.flatMap(({ at, flags }) => flags.map((flag) => ({ ...flag, at: `${at} ${flag.word}` })));
  const closed = flags.filter(({ choices }) => choices.length > 0);
  const named = flags.filter(({ names }) => names !== null);
  const open = flags.filter(({ takesValue, choices, names }) => takesValue && choices.length === 0 && names === null);
  const taking = places.filter(({ names }) => names !== null);
  return `# Completion of ${name} for bash: source <(${name} completion bash)
_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} at=${name} words= index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$at \${COMP_WORDS[index]}" in
      ${patterns(places.slice(1))}) at="$at \${COMP_WORDS[index]}" ;;
    esac
  done
  case "$at $previous" in
${closed.map(({ at, choices }) => `    "${at}") words="${choices.join(" ")}" ;;`).join("\n")}
${named.map(({ at, names }) => `    "${at}") words=$(${name} names ${names} 2>/dev/null) ;;`).join("\n")}
    ${patterns(open)}) return ;;
    *) case "$at" in
${places.map((place) => `      "${place.at}") words="${wordsOf(place)}" ;;`).join("\n")}
    esac
    case "$current $at" in
      -*) ;;
${taking.map(({ at, names }) => `      *" ${at}") words="$words $(${name} names ${names} 2>/dev/null)" ;;`).join("\n")}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${name} ${name}`;
}

function patterns(places: readonly { at: string }[]): string {
  return places.map(({ at }) => `"${at}"`).join(" | ");
}

function wordsOf({ words, flags }: Place): string {
  return [...words, ...flags].map(({ word }) => word).join(" ");
}

import type { Flag, NameKind, Offer, Place } from "./places.ts";

/** Completion script for fish. */
export function fishCompletion(name: string, places: readonly Place[]): string {
  const commands = places.slice(1).map(({ at }) => quoted(at));
  return `# Completion of ${name} for fish: ${name} completion fish | source
function __${name}_at
  set -l at ${name}
  set -l typed (commandline -opc)
  for word in $typed[2..]
    contains -- "$at $word" ${commands.join(" ")}; and set at "$at $word"
  end
  test "$at" = "$argv"
end
complete -c ${name} -f
${places.flatMap((place) => linesOf(name, place)).join("\n")}`;
}

function linesOf(name: string, { at, words, flags, names }: Place): string[] {
  const begin = `complete -c ${name} -n ${quoted(`__${name}_at ${at}`)}`;
  return [
    ...(names === null ? [] : [`${begin} -a ${quoted(namesOf(name, names))}`]),
    ...words.map((offer) => `${begin} -a ${quoted(offer.word)} ${about(offer)}`),
    ...flags.map((flag) => `${begin} -l ${flag.word.replace(/^--/, "")}${valueOf(name, flag)} ${about(flag)}`),
  ];
}

/** Candidates for an option's value. A value without a closed list may be a file. */
function valueOf(name: string, { takesValue, choices, names }: Flag): string {
  if (names !== null) return ` -x -a ${quoted(namesOf(name, names))}`;
  if (choices.length > 0) return ` -x -a ${quoted(choices.join(" "))}`;
  return takesValue ? " -r -F" : "";
}

/** Command that fish runs when it needs the names. */
function namesOf(name: string, names: NameKind): string {
  return `(${name} names ${names} 2>/dev/null)`;
}

function about(offer: Offer): string {
  return `-d ${quoted(offer.about)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

import type { Command } from "commander";

/** A place on the command line: the words so far, and the words that may follow. */
export interface Place {
  /** The words so far, such as `mainspring jobs list`. */
  at: string;
  /** Commands, and allowed words of an argument. */
  words: Offer[];
  flags: Flag[];
  /** Kind of name that an argument may have here; null: none. */
  names: NameKind | null;
}

/** Names that only the server knows. `mainspring names KIND` prints them. */
export const NAME_KINDS = ["pools", "jobs"] as const;
export type NameKind = (typeof NAME_KINDS)[number];

export interface Offer {
  word: string;
  /** Description for people. */
  about: string;
}

/** An option, with its dashes. */
export interface Flag extends Offer {
  takesValue: boolean;
  /** Allowed values; empty: any. */
  choices: readonly string[];
  /** Kind of name that the option's value has; null: the value is no name. */
  names: NameKind | null;
}

/** Every place of a program, computed from its own commands and options, so that completion is never out of date. */
export function placesOf(command: Command, before = ""): Place[] {
  const at = `${before}${command.name()}`;
  const place = {
    at,
    words: [...commandsOf(command), ...argumentsOf(command)],
    flags: flagsOf(command),
    names: namesOf(command),
  };
  return [place, ...command.commands.flatMap((child) => placesOf(child, `${at} `))];
}

function commandsOf(command: Command): Offer[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((child) => ({ word: child.name(), about: child.description() }));
}

function argumentsOf(command: Command): Offer[] {
  return command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((word) => ({ word, about: description })),
  );
}

const ARGUMENTS: Readonly<Record<string, NameKind>> = { pool: "pools", job: "jobs" };
const FLAGS: Readonly<Record<string, NameKind>> = { "--pool": "pools", "--job": "jobs" };

function namesOf(command: Command): NameKind | null {
  const [first] = command.registeredArguments;
  return ARGUMENTS[first?.name() ?? ""] ?? null;
}

function flagsOf(command: Command): Flag[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      word: option.long ?? option.flags,
      about: option.description,
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
      names: FLAGS[option.long ?? ""] ?? null,
    }));
}

import type { Command } from "commander";

/** A place on the command line: behind these words something may follow. */
export interface Place {
  /** The words so far, as `mainspring jobs list`. */
  at: string;
  /** Commands, and what an argument may be. */
  words: Offer[];
  flags: Flag[];
  /** Kind of name that an argument here may be; null: none. */
  names: NameKind | null;
}

/** Names that only the server knows: `mainspring names KIND` prints them. */
export const NAME_KINDS = ["pools", "jobs"] as const;
export type NameKind = (typeof NAME_KINDS)[number];

export interface Offer {
  word: string;
  /** For people. */
  about: string;
}

/** An option; its word with its dashes. */
export interface Flag extends Offer {
  takesValue: boolean;
  /** Allowed values; empty: any. */
  choices: readonly string[];
  /** Kind of name that its value is; null: another value. */
  names: NameKind | null;
}

/** Every place that a program has, from its own commands and options: what completes can never be out of date. */
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

import type { Command } from "commander";

/** A place on the command line: behind these words something may follow. */
export interface Place {
  /** The words so far, as `mainspring jobs list`. */
  at: string;
  /** Commands, and what an argument may be. */
  words: Offer[];
  flags: Flag[];
}

export interface Offer {
  word: string;
  /** For people. */
  about: string;
}

/** An option; its word with its dashes. */
export interface Flag extends Offer {
  takesValue: boolean;
  /** What its value may be; empty: not a closed list. */
  choices: readonly string[];
}

/** Every place that a program has, from its own commands and options: what completes can never be out of date. */
export function placesOf(command: Command, before = ""): Place[] {
  const at = `${before}${command.name()}`;
  const place = { at, words: [...commandsOf(command), ...argumentsOf(command)], flags: flagsOf(command) };
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

function flagsOf(command: Command): Flag[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      word: option.long ?? option.flags,
      about: option.description,
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
    }));
}

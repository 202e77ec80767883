import { debuglog } from "node:util";
import { MainspringError, printable } from "@mainspring/sdk";
import { CommanderError } from "commander";
import { EXIT, type ExitCode } from "./exit-codes.ts";

/** Ends the command with a sentence for people and a code for scripts. */
export class Failure extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Text shown for anything that was thrown, without a stack trace unless NODE_DEBUG=mainspring is set. */
export function failureOf(error: unknown): { message: string | null; exitCode: ExitCode } {
  debuglog("mainspring")("%O", error);
  // Commander has said it already.
  if (error instanceof CommanderError) return { message: null, exitCode: error.exitCode === 0 ? EXIT.ok : EXIT.usage };
  if (error instanceof Failure) return { message: error.message, exitCode: error.exitCode };
  const { code, message: told } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) };
  // One line, because a server chose the words.
  const message = error instanceof MainspringError ? printable(told) : told;
  if (code === "UNAVAILABLE") return { message: withRemedy(message), exitCode: EXIT.unreachable };
  if (code === "BAD_OPTION") return { message, exitCode: EXIT.usage };
  return { message: message ?? "", exitCode: EXIT.failed };
}

function withRemedy(message: string): string {
  const asked = message.endsWith("?") ? message : `${message}. Is it running?`;
  return `${asked} \`npm start\` starts one.`;
}

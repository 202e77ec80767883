import { debuglog } from "node:util";
import { MainspringError, printable } from "@mainspring/sdk";
import { CommanderError } from "commander";
import { EXIT, type ExitCode } from "./exit-codes.ts";

/** Error that ends the command with a sentence for people and an exit code for scripts. */
export class Failure extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Whether the server answered that the object of the request does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof MainspringError && error.code === "NOT_FOUND";
}

/** Text for any thrown value, without a stack trace unless NODE_DEBUG=mainspring is set. */
export function failureOf(error: unknown): { message: string | null; exitCode: ExitCode } {
  debuglog("mainspring")("%O", error);
  // Commander has already printed the error.
  if (error instanceof CommanderError) return { message: null, exitCode: error.exitCode === 0 ? EXIT.ok : EXIT.usage };
  if (error instanceof Failure) return { message: error.message, exitCode: error.exitCode };
  const { code, message: told } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) };
  // The text is reduced to one line, because it comes from a server.
  const message = error instanceof MainspringError ? printable(told) : told;
  if (code === "UNAVAILABLE") return { message: withRemedy(message), exitCode: EXIT.unreachable };
  if (code === "BAD_OPTION") return { message, exitCode: EXIT.usage };
  if (error instanceof Error && ["ConfigError", "LeasesUnusable", "CertificateUnusable"].includes(error.name))
    return { message, exitCode: EXIT.configuration };
  return { message: message ?? "", exitCode: EXIT.failed };
}

function withRemedy(message: string): string {
  const asked = message.endsWith("?") ? message : `${message}. Is it running?`;
  return `${asked} \`npx @mainspring/cli serve\` starts one.`;
}

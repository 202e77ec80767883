import process from "node:process";
import { EXIT } from "./exit-codes.ts";
import { failureOf } from "./failure.ts";
import { program } from "./program.ts";
import { screenText } from "./text/output.ts";

/**
 * Runs one command. The process ends with the exit code once no work is left.
 * @param args words after `mainspring` on the command line
 */
export async function main(args: readonly string[]): Promise<void> {
  // A reader that closes the pipe early (`| head`) is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(EXIT.ok);
  });
  try {
    await program().parseAsync(args, { from: "user" });
  } catch (error) {
    const { message, exitCode } = failureOf(error);
    if (message !== null) process.stderr.write(`mainspring: ${screenText(message)}\n`);
    process.exitCode = exitCode;
  }
}

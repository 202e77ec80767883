import process from "node:process";
import { EXIT } from "./exit-codes.ts";
import { failureOf } from "./failure.ts";
import { screenText } from "./output.ts";
import { program } from "./program.ts";

/**
 * Runs one command; the process ends with its exit code once nothing is left to do.
 * @param args what stands behind `mainspring` on the command line
 */
export async function main(args: readonly string[]): Promise<void> {
  // A reader that has seen enough (`| head`) is no failure.
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

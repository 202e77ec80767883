import { Command } from "commander";
import manifest from "../package.json" with { type: "json" };
import { executionsCommand } from "./commands/executions.ts";
import { schedulesCommand } from "./commands/schedules.ts";
import { serveCommand } from "./commands/serve.ts";
import { submitCommand } from "./commands/submit.ts";
import { workerCommand } from "./commands/worker.ts";

const EXIT_CODES = `
Exit codes: 0 done, 1 refused or failed, 2 wrong command line, 3 no server answered,
            4 (with --wait) the execution is final and did not succeed.
MAINSPRING_URL and MAINSPRING_API_KEY say which server is asked, and as whom.`;

export function program(): Command {
  const commands = new Command("mainspring")
    .description("A distributed job scheduler: serve, work, submit, look.")
    .version(manifest.version)
    .addCommand(serveCommand())
    .addCommand(workerCommand())
    .addCommand(submitCommand())
    .addCommand(executionsCommand())
    .addCommand(schedulesCommand())
    .addHelpText("after", EXIT_CODES);
  throwInsteadOfExit(commands);
  return commands;
}

/** So that whoever runs the program chooses the exit code, and output that is still on its way gets out. */
function throwInsteadOfExit(command: Command): void {
  command.exitOverride().showHelpAfterError("(--help says what there is)");
  for (const child of command.commands) throwInsteadOfExit(child);
}

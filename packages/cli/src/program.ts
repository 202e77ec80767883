import { Command } from "commander";
import manifest from "../package.json" with { type: "json" };
import { auditCommand } from "./commands/audit.ts";
import { capacityCommand } from "./commands/capacity.ts";
import { certsCommand } from "./commands/certs.ts";
import { clickhouseCommand } from "./commands/clickhouse.ts";
import { clusterCommand } from "./commands/cluster.ts";
import { completionCommand } from "./commands/completion.ts";
import { configCommand } from "./commands/config.ts";
import { deadLettersCommand } from "./commands/dead-letters.ts";
import { eventsCommand } from "./commands/events.ts";
import { executionsCommand } from "./commands/executions.ts";
import { handlersCommand } from "./commands/handlers.ts";
import { ingestCommand } from "./commands/ingest.ts";
import { jobsCommand } from "./commands/jobs.ts";
import { keysCommand, whoamiCommand } from "./commands/keys.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { namesCommand } from "./commands/names.ts";
import { poolsCommand } from "./commands/pools.ts";
import { requestsCommand } from "./commands/requests.ts";
import { schedulesCommand } from "./commands/schedules.ts";
import { serveCommand } from "./commands/serve.ts";
import { statsCommand } from "./commands/stats.ts";
import { storeCommand } from "./commands/store.ts";
import { submitCommand } from "./commands/submit.ts";
import { tenantsCommand } from "./commands/tenants.ts";
import { tzdataCommand } from "./commands/tzdata.ts";
import { webhooksCommand } from "./commands/webhooks.ts";
import { workerCommand } from "./commands/worker.ts";
import { workersCommand } from "./commands/workers.ts";
import { workflowCommand } from "./commands/workflow.ts";

const EXIT_CODES = `
Exit codes: 0 done, 1 refused or failed, 2 wrong command line (nothing was done), 3 no server answered,
            4 (submit, get, show and retry with --wait; watch) an execution or a workflow is final and did not succeed.
MAINSPRING_URL and MAINSPRING_API_KEY say which server is asked, and as whom; MAINSPRING_TLS_CA names a file of authorities for https.`;

export function program(): Command {
  const commands = new Command("mainspring")
    .description("A distributed job scheduler: serve, work, submit, look.")
    .version(manifest.version)
    .addCommand(serveCommand())
    .addCommand(workerCommand())
    .addCommand(submitCommand())
    .addCommand(jobsCommand())
    .addCommand(executionsCommand())
    .addCommand(eventsCommand())
    .addCommand(workflowCommand())
    .addCommand(schedulesCommand())
    .addCommand(deadLettersCommand())
    .addCommand(requestsCommand())
    .addCommand(ingestCommand())
    .addCommand(webhooksCommand())
    .addCommand(keysCommand())
    .addCommand(auditCommand())
    .addCommand(whoamiCommand())
    .addCommand(tenantsCommand())
    .addCommand(poolsCommand())
    .addCommand(workersCommand())
    .addCommand(handlersCommand())
    .addCommand(statsCommand())
    .addCommand(clusterCommand())
    .addCommand(tzdataCommand())
    .addCommand(configCommand())
    .addCommand(capacityCommand())
    .addCommand(migrateCommand())
    .addCommand(storeCommand())
    .addCommand(clickhouseCommand())
    .addCommand(certsCommand())
    .addCommand(completionCommand())
    .addCommand(namesCommand())
    .addHelpText("after", EXIT_CODES);
  throwInsteadOfExit(commands);
  return commands;
}

/** Makes commander throw instead of exiting, so that the caller chooses the exit code and pending output is written. */
function throwInsteadOfExit(command: Command): void {
  command.exitOverride().showHelpAfterError("(--help says what there is)");
  for (const child of command.commands) throwInsteadOfExit(child);
}

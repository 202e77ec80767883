import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { id } from "../arguments/option-values.ts";
import { onWorkflow } from "../arguments/workflow-argument.ts";
import { warningsText } from "../text/job-text.ts";
import { sentence } from "../text/output.ts";
import { waitForWorkflow } from "../wait.ts";
import { printRun } from "./workflow-show.ts";

interface RetryOptions extends ConnectionOptions {
  from?: string[];
  idempotencyKey?: string;
  wait?: boolean;
}

export function workflowRetryCommand(): Command {
  return clientCommand("retry")
    .description("run the failed part of a final run again, as a new run that keeps the results of the other nodes")
    .argument("<workflowId>", "", id)
    .option("--from <node...>", "run these nodes again too, and all nodes that depend on them")
    .option(
      "--idempotency-key <key>",
      "not sure whether it was retried? a repeat with this key starts nothing, for 7 days",
    )
    .option("--wait", "wait until it is final; exit code 4 if it did not succeed")
    .action(async (prefix: string, options: RetryOptions) => {
      const { from, idempotencyKey } = options;
      const { client, output } = connect(options);
      const retried = await onWorkflow(client, prefix, (workflowId) =>
        client.workflows.retry(workflowId, given({ from, idempotencyKey })),
      );
      const { workflowId, nodes, retryOf } = retried;
      if (options.wait) return await printRun(client, output, await waitForWorkflow(client, workflowId));
      output.print(retried, () => {
        const text = sentence`accepted: workflow ${workflowId} of ${nodes} nodes, which retries ${retryOf}`;
        return text + warningsText(retried);
      });
    });
}

import type { Client } from "@mainspring/sdk";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { onlyOne } from "./id-argument.ts";
import { isId, isIdPrefix } from "./option-values.ts";

/** Id of the job that an argument denotes by its id, its name, or a prefix of its id. */
export async function jobIdOf(client: Client, idOrName: string): Promise<string> {
  if (isId(idOrName)) return idOrName;
  const found = await client.jobs.find(idOrName);
  if (found !== null) return found.jobId;
  if (isIdPrefix(idOrName)) {
    const jobs = client.listJobs({ idPrefix: idOrName, limit: 10 });
    return onlyOne("job", idOrName, jobs, ({ jobId }) => jobId);
  }
  throw new Failure(`no job has the id or name ${JSON.stringify(idOrName)}: see \`jobs list\``, EXIT.failed);
}
